package portcullis

import (
	"net/textproto"
	"strings"
	"unique"
)

// Longest credential that is looked at, in bytes.
const credentialBytesMax = 8192

// A header of the matrix, in the spellings that it is looked up by.
type credentialHeader struct {
	lower, canonical string
	handle           unique.Handle[string]
}

func credentialHeaderOf(name string) credentialHeader {
	lower := lowerCase(name)
	return credentialHeader{lower, textproto.CanonicalMIMEHeaderKey(lower), unique.Make(lower)}
}

// What was found so far among the headers of a request.
type found struct {
	// Values of credential headers.
	count int
	// The first of them, and its header.
	value  string
	header *credentialHeader
	// Whether a header came once, and is empty.
	isOneEmpty bool
}

// Adds the values of one header.
func (f *found) add(header *credentialHeader, values []string) {
	if len(values) == 0 {
		return
	}
	value := trimmed(values[0])
	if f.count == 0 {
		f.value, f.header = value, header
	}
	// A repeated header is never empty: intermediaries join the values with a comma.
	if len(values) == 1 && value == "" {
		f.isOneEmpty = true
	}
	f.count += len(values)
}

// The fault of the credential; unspecified: there is none, and value and header are the credential.
func (f *found) fault() Reason {
	if f.count == 0 || f.isOneEmpty {
		return CredentialMissing
	}
	if f.count > 1 {
		return CredentialAmbiguous
	}
	// A token that is known came through here once, so this is not done again for it.
	isVisible := true
	for index := range len(f.value) {
		switch each := f.value[index]; {
		case each == ',':
			return CredentialAmbiguous
		case each < 0x21 || each > 0x7e:
			isVisible = false
		}
	}
	if !isVisible || len(f.value) > credentialBytesMax {
		return CredentialMalformed
	}
	return Unspecified
}

// What there is among the headers of a question.
func (r *rules) find(question *Question, result *found) {
	for index := range r.headers {
		header := &r.headers[index]
		switch {
		case question.Headers == nil && question.Metadata == nil:
			if values := question.HTTP[header.canonical]; values != nil {
				result.add(header, values)
			}
		case question.Headers == nil && question.HTTP == nil:
			result.add(header, question.Metadata[header.lower])
		default:
			result.addFrom(header, question)
		}
	}
}

// Adds the values of a header that may be anywhere, in any spelling.
func (f *found) addFrom(header *credentialHeader, question *Question) {
	var values [2]string
	count := 0
	add := func(value string) {
		if count < len(values) {
			values[count] = value
		}
		count++
	}
	for _, each := range question.Headers {
		if isSameName(each.Name, header.lower) {
			add(each.Value)
		}
	}
	for _, value := range question.HTTP[header.canonical] {
		add(value)
	}
	for _, value := range question.Metadata[header.lower] {
		add(value)
	}
	// More than two make no difference to two.
	f.add(header, values[:min(count, len(values))])
}

// Names of headers are ASCII. No other letter may become one of them in lower case.
func isSameName(name, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for index := range len(name) {
		if asciiLower(name[index]) != lower[index] {
			return false
		}
	}
	return true
}

func lowerCase(name string) string {
	return strings.Map(func(letter rune) rune {
		if letter >= 'A' && letter <= 'Z' {
			return letter + ('a' - 'A')
		}
		return letter
	}, name)
}

func asciiLower(letter byte) byte {
	if letter >= 'A' && letter <= 'Z' {
		return letter + ('a' - 'A')
	}
	return letter
}

// White space around a value is not part of it (RFC 9110 §5.5).
func trimmed(value string) string {
	start, end := 0, len(value)
	for start < end && isBlank(value[start]) {
		start++
	}
	for end > start && isBlank(value[end-1]) {
		end--
	}
	return value[start:end]
}

func isBlank(letter byte) bool { return letter == ' ' || letter == '\t' }
