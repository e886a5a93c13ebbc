"""The HPACK of Python, behind lines of JSON. One process is one connection: it has one encoder and one decoder."""

import json
import sys

import hpack

FIELDS_BYTES_MAX = 2**24


def new_decoder():
    return hpack.Decoder(max_header_list_size=FIELDS_BYTES_MAX)


def main():
    encoder = hpack.Encoder()
    decoder = new_decoder()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = {}
        if asked.get("fresh"):
            decoder = new_decoder()
        if "encoder_table" in asked:
            encoder.header_table_size = asked["encoder_table"]
        if "decoder_table" in asked:
            decoder.max_allowed_table_size = asked["decoder_table"]
        if "encode" in asked:
            fields = [(octets(name), octets(value), how == "never") for name, value, how in asked["encode"]]
            answer["block"] = encoder.encode(fields, huffman=asked.get("huffman", True)).hex()
        if "decode" in asked:
            try:
                fields = decoder.decode(bytes.fromhex(asked["decode"]), raw=True)
                answer["fields"] = [described(field) for field in fields]
            except hpack.HPACKError as error:
                answer["error"] = type(error).__name__
        print(json.dumps(answer), flush=True)


def described(field):
    name, value = field
    return [name.decode("latin-1"), value.decode("latin-1"), "" if field.indexable else "never"]


def octets(text):
    return text.encode("latin-1")


main()
