// The HPACK of golang.org/x/net, behind lines of JSON. One process is one connection: it has one encoder and one decoder.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"golang.org/x/net/http2/hpack"
)

// The input. Either a list to encode, or a block to decode, or a new size of a table.
type line struct {
	Encode [][3]string `json:"encode"`
	Decode *string     `json:"decode"`
	// The size of the dynamic table that the encoder uses from now on, and the one that the decoder allows.
	EncoderTable *uint32 `json:"encoder_table"`
	DecoderTable *uint32 `json:"decoder_table"`
	// Whether the block is the first one of a connection.
	Fresh bool `json:"fresh"`
}

type answer struct {
	Block  string      `json:"block,omitempty"`
	Fields [][3]string `json:"fields,omitempty"`
	Error  string      `json:"error,omitempty"`
}

func main() {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	decoder := hpack.NewDecoder(4096, nil)
	printer := json.NewEncoder(os.Stdout)
	printer.SetEscapeHTML(false)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked line
		must(json.Unmarshal(lines.Bytes(), &asked))
		var found answer
		if asked.EncoderTable != nil {
			encoder.SetMaxDynamicTableSizeLimit(*asked.EncoderTable)
			encoder.SetMaxDynamicTableSize(*asked.EncoderTable)
		}
		if asked.Fresh {
			decoder = hpack.NewDecoder(4096, nil)
		}
		if asked.DecoderTable != nil {
			decoder.SetAllowedMaxDynamicTableSize(*asked.DecoderTable)
		}
		if asked.Encode != nil {
			block.Reset()
			for _, field := range asked.Encode {
				name, value := octets(field[0]), octets(field[1])
				must(encoder.WriteField(hpack.HeaderField{Name: name, Value: value, Sensitive: field[2] == "never"}))
			}
			found.Block = hex.EncodeToString(block.Bytes())
		}
		if asked.Decode != nil {
			bytes, err := hex.DecodeString(*asked.Decode)
			must(err)
			fields, err := decoder.DecodeFull(bytes)
			if err != nil {
				found.Error = err.Error()
			}
			found.Fields = [][3]string{}
			for _, field := range fields {
				how := ""
				if field.Sensitive {
					how = "never"
				}
				found.Fields = append(found.Fields, [3]string{latin1(field.Name), latin1(field.Value), how})
			}
		}
		must(printer.Encode(found))
	}
	must(lines.Err())
}

// The octets of a text that has one character for each octet.
func octets(text string) string {
	found := make([]byte, 0, len(text))
	for _, character := range text {
		found = append(found, byte(character))
	}
	return string(found)
}

func latin1(octets string) string {
	found := make([]rune, len(octets))
	for index := range len(octets) {
		found[index] = rune(octets[index])
	}
	return string(found)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
