package portcullis

import (
	"net/textproto"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Scope is the account or project of a token or a resource.
type Scope struct {
	// Account is the number of the account.
	Account string
	// Project is the name of a project of the account. Empty: the whole account.
	Project string
}

// Header is a header of a request, as it arrived. Its value may be any bytes.
type Header struct {
	Name, Value string
}

// Request is a request of HTTP as it arrived: neither decoded nor corrected. A call of gRPC is one, too.
type Request struct {
	// Method, for example "GET". Of gRPC it is "POST".
	Method string
	// Host is the header Host or :authority. Empty: there is none. Several ones are joined with a comma.
	Host string
	// Path is the request target with its query: http.Request.RequestURI, or the full method of gRPC.
	Path string
}

// Claims are about a token that the program has verified itself. Only the matrix decides about them.
type Claims struct {
	// Kind is the id of a kind of token.
	Kind string
	// Scope of the token.
	Scope Scope
}

// Question asks whether a credential opens an API. The credential is in HTTP, in Metadata or in Headers, as the program has them; or
// Claims take its place.
type Question struct {
	// API is the id of an API, for example "balance".
	API string
	// Request takes the place of API and Target: the routes of the sidecar say them. All headers of the request are needed then.
	Request *Request
	// HTTP holds the headers of a request of net/http. Names that are not canonical are ignored, as by http.Header.Get.
	HTTP map[string][]string
	// Metadata of a call of gRPC. Names that are not in lower case are ignored, as by metadata.MD.Get.
	Metadata map[string][]string
	// Headers in any case, each value by itself.
	Headers []Header
	// Claims that are trusted without verification. Nil: the credential is verified.
	Claims *Claims
	// Target is the account, and the project if any, that owns the requested resource. Nil: only the matrix decides.
	Target *Scope
	// ClientAddress is the IP address of the client, for accounts that restrict addresses.
	ClientAddress string
}

// Message of the question, for the sidecar.
func (q *Question) request() *portcullisv1.CheckRequest {
	request := &portcullisv1.CheckRequest{Api: text(q.API), ClientAddress: text(q.ClientAddress)}
	if q.Target != nil {
		request.Target = q.Target.message()
	}
	if q.Request != nil {
		request.Request = &portcullisv1.HttpRequest{Method: text(q.Request.Method), Host: text(q.Request.Host), Path: text(q.Request.Path)}
	}
	if q.Claims != nil {
		request.Subject = &portcullisv1.CheckRequest_Token{
			Token: &portcullisv1.TokenClaims{Kind: text(q.Claims.Kind), Scope: q.Claims.Scope.message()},
		}
		return request
	}
	var headers []*portcullisv1.Header
	add := func(name, value string) {
		// The routes may look for a target in any header.
		if q.Request != nil && !strings.HasPrefix(name, ":") || !isIrrelevant(name) {
			headers = append(headers, &portcullisv1.Header{Name: text(name), Value: text(value)})
		}
	}
	for name, values := range q.HTTP {
		for _, value := range values {
			if textproto.CanonicalMIMEHeaderKey(name) == name {
				add(name, value)
			}
		}
	}
	for name, values := range q.Metadata {
		for _, value := range values {
			if lowerCase(name) == name {
				add(name, value)
			}
		}
	}
	for _, header := range q.Headers {
		add(header.Name, header.Value)
	}
	// The order of a map is another one each time. Equal questions must be equal, because answers are reused.
	slices.SortStableFunc(headers, func(a, b *portcullisv1.Header) int { return strings.Compare(a.Name, b.Name) })
	request.Subject = &portcullisv1.CheckRequest_Credentials{Credentials: &portcullisv1.Credentials{Headers: headers}}
	return request
}

func (s Scope) message() *portcullisv1.Scope {
	return &portcullisv1.Scope{Account: text(s.Account), Project: text(s.Project)}
}

func scopeOf(message *portcullisv1.Scope) Scope {
	return Scope{Account: message.GetAccount(), Project: message.GetProject()}
}

// A message has text in UTF-8, and a header any bytes. No credential has other bytes than ASCII, so each other byte may become the
// character with its number.
func text(value string) string {
	isASCII := true
	for index := 0; index < len(value) && isASCII; index++ {
		isASCII = value[index] < 0x80
	}
	if isASCII {
		return value
	}
	characters := make([]rune, len(value))
	for index := range len(value) {
		characters[index] = rune(value[index])
	}
	return string(characters)
}

// Headers that carry no credential of this kind. They differ from request to request, so without them an answer can be reused.
var irrelevant = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`accept baggage cache-control connection cookie date dnt expect forwarded host keep-alive origin
		pragma priority range referer te traceparent tracestate trailer transfer-encoding upgrade upgrade-insecure-requests user-agent via
		x-real-ip x-request-id x-correlation-id x-forwarded-by x-forwarded-client-cert x-forwarded-for x-forwarded-host
		x-forwarded-method x-forwarded-path x-forwarded-port x-forwarded-prefix x-forwarded-proto x-forwarded-protocol
		x-forwarded-scheme x-forwarded-server x-forwarded-ssl x-forwarded-uri`) {
		names[name] = true
	}
	return names
}()

var irrelevantFamilies = []string{":", "accept-", "content-", "grpc-", "if-", "sec-", "access-control-", "x-b3-"}

func isIrrelevant(name string) bool {
	lower := lowerCase(name)
	if irrelevant[lower] {
		return true
	}
	for _, family := range irrelevantFamilies {
		if strings.HasPrefix(lower, family) {
			return true
		}
	}
	return false
}

// Token is a token that the sidecar has verified.
type Token struct {
	// Kind is the id of its kind.
	Kind string
	// Scope that it is bound to.
	Scope Scope
	// Subject holds it.
	Subject Subject
	// ID names the token without revealing it.
	ID string
	// IssuedAt is when it was issued.
	IssuedAt time.Time
	// ExpiresAt is when it expires. Zero: never.
	ExpiresAt time.Time
	// Roles of the holder in the scope, as an upstream names them.
	Roles []string
	// Authority is the name of the upstream that verifies it. Empty: the sidecar's own directory does.
	Authority string
	// ProjectID is the id of the project of its scope.
	ProjectID string
	// DerivedFrom has the ids of the tokens that it was derived from. It ends with any of them.
	DerivedFrom []string
}

// Subject is the holder of a token.
type Subject struct {
	// ID in the directory.
	ID string
	// Name of the holder.
	Name string
	// Type is "service_user", "control_panel_user", or "user" where an upstream verifies the token.
	Type string
}

func tokenOf(message *portcullisv1.VerifiedToken) *Token {
	if message == nil {
		return nil
	}
	subject := message.GetSubject()
	return &Token{
		Kind:        message.GetKind(),
		Scope:       scopeOf(message.GetScope()),
		Subject:     Subject{ID: subject.GetId(), Name: subject.GetName(), Type: subject.GetType()},
		ID:          message.GetTokenId(),
		IssuedAt:    timeOf(message.GetIssuedAt()),
		ExpiresAt:   timeOf(message.GetExpiresAt()),
		Roles:       message.GetRoles(),
		Authority:   message.GetAuthority(),
		ProjectID:   message.GetProjectId(),
		DerivedFrom: message.GetDerivedFrom(),
	}
}

func timeOf(message *timestamppb.Timestamp) time.Time {
	if message == nil {
		return time.Time{}
	}
	return message.AsTime()
}
