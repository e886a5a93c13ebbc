// Package gate lets requests pass whose token opens an API: a handler for net/http, and interceptors for gRPC. It needs gRPC and the
// generated code alone.
package gate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	portcullisv1 "portcullis.example/guard/gen/portcullis/v1"
)

// Headers of the shipped matrix. What is not sent to the sidecar changes no answer, so answers can be reused.
var credentialHeaders = []string{"x-auth-token", "x-token"}

// Another credential may help. With every other reason the answer is 403, also with one that is not known here.
var unauthenticated = map[portcullisv1.Reason]bool{
	portcullisv1.Reason_REASON_CREDENTIAL_MISSING:   true,
	portcullisv1.Reason_REASON_CREDENTIAL_AMBIGUOUS: true,
	portcullisv1.Reason_REASON_CREDENTIAL_MALFORMED: true,
	portcullisv1.Reason_REASON_WRONG_HEADER:         true,
	portcullisv1.Reason_REASON_CREDENTIAL_INVALID:   true,
	portcullisv1.Reason_REASON_CREDENTIAL_EXPIRED:   true,
	portcullisv1.Reason_REASON_CREDENTIAL_REVOKED:   true,
}

const (
	deadline   = time.Second
	answersMax = 1000
)

// Gate asks a sidecar. Its zero value with a Client is ready to use.
type Gate struct {
	Client portcullisv1.AuthorizationServiceClient

	lock    sync.Mutex
	answers map[[sha256.Size]byte]kept
}

type kept struct {
	answer *portcullisv1.CheckResponse
	until  time.Time
}

// A refusal is what is answered in place of the handler.
type refusal struct {
	status    int
	challenge string
	// Digest of the rules that decided; empty: there is no decision.
	rules  string
	detail detail
}

type detail struct {
	Reason   string     `json:"reason"`
	Message  string     `json:"message"`
	Accepted []accepted `json:"accepted,omitempty"`
}

type accepted struct {
	Kind     string `json:"kind"`
	Header   string `json:"header"`
	Issuable bool   `json:"issuable"`
}

// Whether a request may pass; nil: it may. The values of a header are given each by itself, and the account owns the requested
// resource. When the context ends, so does the question.
func (g *Gate) refusal(ctx context.Context, api, account, address string, values func(string) []string) *refusal {
	if account == "" {
		return &refusal{403, "", "", detail{Reason: "TARGET_NOT_FOUND", Message: "the request does not say whose resource it asks for"}}
	}
	credentials := &portcullisv1.Credentials{}
	for _, name := range credentialHeaders {
		for _, value := range values(name) {
			credentials.Headers = append(credentials.Headers, &portcullisv1.Header{Name: name, Value: text(value)})
		}
	}
	answer, err := g.answer(ctx, &portcullisv1.CheckRequest{
		Api:           api,
		Subject:       &portcullisv1.CheckRequest_Credentials{Credentials: credentials},
		Target:        &portcullisv1.Scope{Account: account},
		ClientAddress: address,
	})
	if err != nil {
		log.Print("portcullis: no answer, so a request was refused: ", err)
		reason := status.Code(err).String()
		return &refusal{503, "", "", detail{Reason: reason, Message: "the request could not be authorized; try again later"}}
	}
	if answer.GetAllowed() && answer.GetReason() == portcullisv1.Reason_REASON_ALLOWED {
		return nil
	}
	return denial(answer)
}

// Bytes of a header as text. They need not be UTF-8, and a message with other bytes cannot be sent.
func text(value string) string {
	characters := make([]rune, len(value))
	for index := range len(value) {
		characters[index] = rune(value[index])
	}
	return string(characters)
}

func denial(answer *portcullisv1.CheckResponse) *refusal {
	reason := strings.TrimPrefix(answer.GetReason().String(), "REASON_")
	denied := &refusal{403, "", answer.GetRulesDigest(), detail{Reason: reason, Message: answer.GetMessage()}}
	var challenges []string
	seen := map[string]bool{}
	for _, each := range answer.GetAccepted() {
		denied.detail.Accepted = append(denied.detail.Accepted, accepted{each.GetKind(), each.GetHeader(), each.GetIssuable()})
		if !seen[each.GetHeader()] {
			seen[each.GetHeader()] = true
			challenges = append(challenges, fmt.Sprintf("Portcullis header=%q, reason=%q", each.GetHeader(), reason))
		}
	}
	if unauthenticated[answer.GetReason()] {
		if len(challenges) == 0 {
			challenges = []string{fmt.Sprintf("Portcullis reason=%q", reason)}
		}
		denied.status, denied.challenge = 401, strings.Join(challenges, ", ")
	}
	return denied
}

func (r *refusal) body() []byte {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	// Texts alone: it cannot fail.
	_ = encoder.Encode(map[string]detail{"error": r.detail})
	return []byte(strings.TrimSuffix(text.String(), "\n"))
}

// The answer to an equal question that may still be reused (cache_for), or a new one.
func (g *Gate) answer(ctx context.Context, check *portcullisv1.CheckRequest) (*portcullisv1.CheckResponse, error) {
	question, err := proto.MarshalOptions{Deterministic: true}.Marshal(check)
	if err != nil {
		return nil, err
	}
	// The tokens themselves are not kept.
	key, asked := sha256.Sum256(question), time.Now()
	g.lock.Lock()
	known, found := g.answers[key]
	g.lock.Unlock()
	if found && asked.Before(known.until) {
		return known.answer, nil
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	answer, err := g.Client.Check(ctx, check)
	if err != nil {
		return nil, err
	}
	g.keep(key, kept{answer, asked.Add(answer.GetCacheFor().AsDuration())})
	return answer, nil
}

func (g *Gate) keep(key [sha256.Size]byte, entry kept) {
	g.lock.Lock()
	defer g.lock.Unlock()
	if g.answers == nil || len(g.answers) >= answersMax {
		g.answers = map[[sha256.Size]byte]kept{}
	}
	g.answers[key] = entry
}
