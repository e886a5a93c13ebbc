package portcullis

import (
	"encoding/base64"
	"net/textproto"
	"slices"
	"strings"
	"unique"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// The name of a header, in the spellings that it is looked up by.
type headerName struct {
	lower, canonical string
}

func headerNameOf(name string) headerName {
	lower := lowerCase(name)
	return headerName{lower, textproto.CanonicalMIMEHeaderKey(lower)}
}

// A header of the matrix, and its possible content.
type credentialHeader struct {
	headerName
	// Whether a token may be in it alone, and the name of that place.
	isBare bool
	bare   unique.Handle[string]
	// The schemes that may stand before a token.
	schemes []credentialScheme
}

type credentialScheme struct {
	lower string
	place unique.Handle[string]
	// The parts of Basic that may be the token. Nil: it is the text behind the scheme.
	parts []basicPart
}

// A part of the credentials of Basic that tokens travel in.
type basicPart struct {
	isPassword bool
	place      unique.Handle[string]
	// Its tokens begin with one of these.
	prefixes []string
}

// A header that must come with tokens of a place.
type companion struct {
	headerName
	place unique.Handle[string]
}

// Adds a place in the header, and returns it.
func (h *credentialHeader) add(message *portcullisv1.TokenPlace) unique.Handle[string] {
	lower := lowerCase(message.GetScheme())
	if lower == "" {
		h.isBare, h.bare = true, unique.Make(h.lower)
		return h.bare
	}
	index := slices.IndexFunc(h.schemes, func(known credentialScheme) bool { return known.lower == lower })
	if index < 0 {
		index = len(h.schemes)
		h.schemes = append(h.schemes, credentialScheme{lower: lower, place: unique.Make(h.lower + " " + lower)})
	}
	scheme := &h.schemes[index]
	if message.GetBasic() == "" {
		return scheme.place
	}
	place := unique.Make(h.lower + " " + lower + " " + message.GetBasic())
	for index := range scheme.parts {
		if part := &scheme.parts[index]; part.place == place {
			part.prefixes = append(part.prefixes, message.GetPrefix())
			return place
		}
	}
	scheme.parts = append(scheme.parts, basicPart{message.GetBasic() == "password", place, []string{message.GetPrefix()}})
	return place
}

// The text behind the scheme of a value. Nil: the text before the first space is not one of the header's schemes.
func (h *credentialHeader) cutScheme(value string) (scheme *credentialScheme, token string) {
	if len(h.schemes) == 0 {
		return nil, ""
	}
	end := strings.IndexByte(value, ' ')
	if end < 0 {
		end = len(value)
	}
	for index := range h.schemes {
		if isSameName(value[:end], h.schemes[index].lower) {
			for end < len(value) && value[end] == ' ' {
				end++
			}
			return &h.schemes[index], value[end:]
		}
	}
	return nil, ""
}

// The findings so far among the headers of a request.
type found struct {
	// Values of credential headers.
	count int
	// The first of them, and its header.
	value  string
	header *credentialHeader
	// Whether a header came once, and is empty.
	isOneEmpty bool
	// The places whose tokens lack a header that must come with them.
	incomplete []unique.Handle[string]
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

// The token and its place, if there is no fault.
func (f *found) token() (value string, place unique.Handle[string], isThere bool) {
	if f.count != 1 || f.isOneEmpty {
		return "", place, false
	}
	value, place, isThere = f.value, f.header.bare, f.header.isBare
	if scheme, token := f.header.cutScheme(f.value); scheme != nil {
		value, place, isThere = token, scheme.place, token != ""
		if scheme.parts != nil && isThere {
			var fault Reason
			value, place, fault = scheme.tokenOfBasic(token)
			isThere = fault == Unspecified
		}
	}
	return value, place, isThere && !slices.Contains(f.incomplete, place)
}

// The fault of the credential; unspecified: there is none.
func (f *found) fault() Reason {
	if f.count == 0 || f.isOneEmpty {
		return CredentialMissing
	}
	if f.count > 1 {
		return CredentialAmbiguous
	}
	// A token that is known came through here once, so this is not done again for it.
	if strings.IndexByte(f.value, ',') >= 0 {
		return CredentialAmbiguous
	}
	scheme, token := f.header.cutScheme(f.value)
	place := f.header.bare
	switch {
	case scheme == nil && f.header.isBare:
		token = f.value
	case scheme == nil:
		return CredentialMalformed
	case token == "":
		return CredentialMissing
	case scheme.parts != nil:
		var fault Reason
		if token, place, fault = scheme.tokenOfBasic(token); fault != Unspecified {
			return fault
		}
	default:
		place = scheme.place
	}
	if !isToken(token) || slices.Contains(f.incomplete, place) {
		return CredentialMalformed
	}
	return Unspecified
}

func isToken(text string) bool {
	for index := range len(text) {
		if each := text[index]; each < 0x21 || each > 0x7e {
			return false
		}
	}
	return true
}

// The token in the credentials of Basic. Where either part may be one, it is the one that is not empty; of two, the one that begins
// as tokens there do.
func (s *credentialScheme) tokenOfBasic(text string) (value string, place unique.Handle[string], fault Reason) {
	// Without the options, other bits and line breaks would do as well.
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	user, password, isWhole := strings.Cut(string(decoded), ":")
	hasControl := strings.ContainsFunc(string(decoded), func(letter rune) bool { return letter < 0x20 || letter == 0x7f })
	if err != nil || !isToken(text) || !isWhole || hasControl {
		return "", place, CredentialMalformed
	}
	sent, fitting := 0, 0
	var found *basicPart
	for index := range s.parts {
		part := &s.parts[index]
		if own := part.of(user, password); own != "" {
			sent++
			fits := slices.ContainsFunc(part.prefixes, func(prefix string) bool { return strings.HasPrefix(own, prefix) })
			if fits {
				fitting++
			}
			if found == nil || fits {
				found = part
			}
		}
	}
	switch {
	case sent == 0:
		return "", place, CredentialMissing
	case sent > 1 && fitting > 1:
		return "", place, CredentialAmbiguous
	case sent > 1 && fitting == 0:
		return "", place, CredentialMalformed
	}
	return found.of(user, password), found.place, Unspecified
}

func (p *basicPart) of(user, password string) string {
	if p.isPassword {
		return password
	}
	return user
}

// The credentials among the headers of a question.
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
	for index := range r.companions {
		each := &r.companions[index]
		if first, count := question.valuesOf(&each.headerName); count != 1 || trimmed(first) == "" {
			result.incomplete = append(result.incomplete, each.place)
		}
	}
}

// The first value of a header, as it arrived, and how many there are.
func (q *Question) valuesOf(header *headerName) (first string, count int) {
	var values []string
	switch {
	case q.Headers == nil && q.Metadata == nil:
		values = q.HTTP[header.canonical]
	case q.Headers == nil && q.HTTP == nil:
		values = q.Metadata[header.lower]
	default:
		found, count := q.valuesAnywhere(header)
		return found[0], count
	}
	if len(values) > 0 {
		first = values[0]
	}
	return first, len(values)
}

// Adds the values of a header that may be anywhere, in any spelling.
func (f *found) addFrom(header *credentialHeader, question *Question) {
	values, count := question.valuesAnywhere(&header.headerName)
	// More than two make no difference to two.
	f.add(header, values[:min(count, len(values))])
}

func (q *Question) valuesAnywhere(header *headerName) (values [2]string, count int) {
	add := func(value string) {
		if count < len(values) {
			values[count] = value
		}
		count++
	}
	for _, each := range q.Headers {
		if isSameName(each.Name, header.lower) {
			add(each.Value)
		}
	}
	for _, value := range q.HTTP[header.canonical] {
		add(value)
	}
	for _, value := range q.Metadata[header.lower] {
		add(value)
	}
	return values, count
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
