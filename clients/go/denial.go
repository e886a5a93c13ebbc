package portcullis

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
)

// The answer in place of a handler.
type denial struct {
	status  int
	reason  string
	message string
	// Nil: there is no decision.
	accepted []AcceptedKind
	// Digest of the rules that decided.
	rules string
	// Whether the routes refuse the request, and no rules decided.
	isRefusal bool
}

// Another credential may help. With every other reason the status is 403, also with one that is not known here.
var unauthenticated = map[Reason]bool{
	CredentialMissing:   true,
	CredentialAmbiguous: true,
	CredentialMalformed: true,
	WrongHeader:         true,
	CredentialInvalid:   true,
	CredentialExpired:   true,
	CredentialRevoked:   true,
}

var targetNotFound = &denial{status: http.StatusForbidden, reason: "TARGET_NOT_FOUND", message: "the request does not say whose resource it asks for"}

var resourceNotFound = &denial{status: http.StatusNotFound, reason: "NOT_FOUND", message: "there is no such resource"}

var apiNotFound = &denial{status: http.StatusForbidden, reason: "UNKNOWN_API", message: "no API is known for this request"}

func denialOf(answer *Answer, hideOthers bool) *denial {
	if hideOthers && (answer.Reason == AccountMismatch || answer.Reason == ProjectMismatch) {
		return resourceNotFound
	}
	if route := answer.Route(); route != nil && route.Refused != "" {
		return &denial{status: http.StatusForbidden, reason: route.Refused, message: answer.Message(), accepted: []AcceptedKind{}, isRefusal: true}
	}
	denied := &denial{
		status: http.StatusForbidden, reason: answer.Reason.String(), message: answer.Message(), accepted: answer.Accepted(), rules: answer.RulesDigest(),
	}
	if denied.accepted == nil {
		denied.accepted = []AcceptedKind{}
	}
	if unauthenticated[answer.Reason] {
		denied.status = http.StatusUnauthorized
	}
	return denied
}

// The client cannot fix what is wrong with a configuration, so it learns the reason alone; the log has the rest.
func failureOf(err error) *denial {
	var failed *Error
	if errors.As(err, &failed) && failed.Code != codes.InvalidArgument {
		reason := failed.Reason
		if reason == "" {
			reason = failed.name()
		}
		return &denial{status: http.StatusServiceUnavailable, reason: reason, message: "the request could not be authorized; try again later"}
	}
	message := "the request could not be authorized; the operator finds the cause in the log"
	return &denial{status: http.StatusInternalServerError, reason: "INTERNAL", message: message}
}

// Name and value of each header, names in lower case.
func (d *denial) headers() [][2]string {
	headers := [][2]string{
		{"content-type", "application/json"},
		{"cache-control", "no-store"},
		{"x-portcullis-reason", d.reason},
	}
	if (d.rules != "" || d.accepted != nil) && !d.isRefusal {
		headers = append(headers, [2]string{"x-portcullis-rules-digest", d.rules})
	}
	switch d.status {
	case http.StatusUnauthorized:
		headers = append(headers, [2]string{"www-authenticate", d.challenges()})
	case http.StatusServiceUnavailable:
		headers = append(headers, [2]string{"retry-after", "1"})
	}
	return headers
}

// A challenge for each place that a token could be sent in (RFC 9110 §11.6.1 demands one with 401).
func (d *denial) challenges() string {
	var challenges []string
	for _, each := range d.accepted {
		place := fmt.Sprintf(`header="%s",`, each.Header)
		if each.Scheme != "" {
			place += fmt.Sprintf(` scheme="%s",`, each.Scheme)
		}
		challenge := fmt.Sprintf(`Portcullis %s reason="%s"`, place, d.reason)
		if !slices.Contains(challenges, challenge) {
			challenges = append(challenges, challenge)
		}
	}
	if len(challenges) == 0 {
		return fmt.Sprintf(`Portcullis reason="%s"`, d.reason)
	}
	return strings.Join(challenges, ", ")
}

// The same bytes as those of a sidecar behind a proxy.
func (d *denial) body() string {
	var body strings.Builder
	body.WriteString(`{"error":{"reason":` + quoted(d.reason) + `,"message":` + quoted(d.message))
	if d.accepted != nil {
		body.WriteString(`,"accepted":[`)
		for index, each := range d.accepted {
			if index > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"kind":%s,"header":%s`, quoted(each.Kind), quoted(each.Header))
			if each.Scheme != "" {
				body.WriteString(`,"scheme":` + quoted(each.Scheme))
			}
			fmt.Fprintf(&body, `,"issuable":%t,"obtained":%s`, each.Issuable, quoted(each.Obtained))
			if each.Link != "" {
				body.WriteString(`,"link":` + quoted(each.Link))
			}
			body.WriteByte('}')
		}
		body.WriteByte(']')
	}
	body.WriteString("}}")
	return body.String()
}

// A text in JSON, as JavaScript writes it. Package encoding/json escapes more.
func quoted(text string) string {
	var result strings.Builder
	result.WriteByte('"')
	for _, letter := range text {
		switch letter {
		case '"', '\\':
			result.WriteByte('\\')
			result.WriteRune(letter)
		case '\b':
			result.WriteString(`\b`)
		case '\f':
			result.WriteString(`\f`)
		case '\n':
			result.WriteString(`\n`)
		case '\r':
			result.WriteString(`\r`)
		case '\t':
			result.WriteString(`\t`)
		default:
			if letter < 0x20 {
				fmt.Fprintf(&result, `\u%04x`, letter)
			} else {
				result.WriteRune(letter)
			}
		}
	}
	result.WriteByte('"')
	return result.String()
}
