package portcullis

import (
	"slices"
	"time"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// AcceptedKind is a kind of token that an API accepts.
type AcceptedKind struct {
	// Kind is its id.
	Kind string `json:"kind"`
	// Header to send it in.
	Header string `json:"header"`
	// Scheme before the token in that header, for example "Bearer". Empty: the header has the token alone.
	Scheme string `json:"scheme,omitempty"`
	// Issuable says whether Issue can issue it.
	Issuable bool `json:"issuable"`
	// Obtained says how: "issue", "control_panel" or "elsewhere".
	Obtained string `json:"obtained"`
	// Link leads to where a person obtains it or reads how. Empty: the matrix does not say.
	Link string `json:"link,omitempty"`
}

// Answer is a decision. It came from the sidecar, or from the memory of a client in local mode. The zero Answer denies.
type Answer struct {
	// Allowed says whether the credential opens the API.
	Allowed bool
	// Reason for the decision.
	Reason Reason

	// The rest says what an answer from memory is made of. An answer has so few parts that it fits into the registers of a machine.

	// Whether the token is in force.
	isVerified bool
	// Of the kind; 0: it is not in the matrix.
	column uint32
	row    *row
	// Nil: the answer is not about a known token.
	entry *entry
	// Nil: the request may pass, and nothing was asked.
	said *said
	// Nil: the sidecar said it, if the question had a request.
	route *Route
}

// Route is the result of the sidecar's routes for a request.
type Route struct {
	// API that the request asks for. Empty: the request is refused.
	API string
	// Target is the account, and the project if any, that owns the requested resource. Nil: only the matrix decides.
	Target *Scope
	// Refused says why the routes refuse the request, for example "NO_ROUTE". Empty: they do not.
	Refused string
}

// The words of the sidecar: all of an answer, or the words of a denial.
type said struct {
	response                *portcullisv1.CheckResponse
	message, header, scheme string
}

func saidIn(response *portcullisv1.CheckResponse) said {
	return said{message: response.GetMessage(), header: response.GetHeader(), scheme: response.GetScheme()}
}

func answerOf(response *portcullisv1.CheckResponse, question *Question) Answer {
	reason, route := reasonOf(response.GetReason()), response.GetRoute()
	// A reason that this client does not know may stand for anything, so it is a denial. So is an answer to a request without its API.
	isAllowed := response.GetAllowed() && reason == Allowed && (question.Request == nil || route.GetApi() != "" && route.GetRefused() == "")
	said := saidIn(response)
	said.response = response
	return Answer{Allowed: isAllowed, Reason: reason, said: &said}
}

// Message explains the decision for people, with what to do.
func (a *Answer) Message() string {
	switch {
	case a.said != nil:
		return a.said.message
	case a.Allowed:
		return a.row.allowedMessage(a.column)
	}
	return ""
}

// Header is the request header for tokens of this kind. Empty: the kind is not known.
func (a *Answer) Header() string {
	switch {
	case a.said != nil:
		return a.said.header
	case a.Allowed && a.column > 0:
		return a.row.rules.kinds[a.column-1].header
	}
	return ""
}

// Scheme is the word before the token in that header, for example "Bearer". Empty: the header has the token alone.
func (a *Answer) Scheme() string {
	switch {
	case a.said != nil:
		return a.said.scheme
	case a.Allowed && a.column > 0:
		return a.row.rules.kinds[a.column-1].scheme
	}
	return ""
}

// Accepted names, on a denial, every kind of token that the API accepts.
func (a *Answer) Accepted() []AcceptedKind {
	if response := a.Response(); response != nil {
		accepted := make([]AcceptedKind, 0, len(response.GetAccepted()))
		for _, each := range response.GetAccepted() {
			accepted = append(accepted, AcceptedKind{each.GetKind(), each.GetHeader(), each.GetScheme(), each.GetIssuable(), obtained(each), each.GetLink()})
		}
		return accepted
	}
	if a.Allowed || a.row == nil {
		return nil
	}
	return slices.Clone(a.row.accepted)
}

// A sidecar of the release before does not say how, and knows no kinds that are obtained elsewhere.
func obtained(kind interface {
	GetObtained() string
	GetIssuable() bool
}) string {
	switch {
	case kind.GetObtained() != "":
		return kind.GetObtained()
	case kind.GetIssuable():
		return "issue"
	}
	return "control_panel"
}

// Advice is recommendations about such a token, and the note of the cell. An answer from memory has the note if it allows.
func (a *Answer) Advice() []string {
	if response := a.Response(); response != nil {
		return slices.Clone(response.GetAdvice())
	}
	if !a.Allowed || a.column == 0 {
		return nil
	}
	return slices.Clone(a.row.notes[a.row.rules.kinds[a.column-1].id])
}

// Token is the verified token, if there is one. It is there on denials too.
func (a *Answer) Token() *Token {
	if a.entry != nil && a.Reason != UnknownAPI {
		return a.entry.token()
	}
	return tokenOf(a.Response().GetToken())
}

// Verified says whether the credential was verified. False for claims.
func (a *Answer) Verified() bool {
	return a.isVerified && a.Reason != UnknownAPI || a.Response().GetVerified()
}

// RulesDigest names the exact rules: the matrix and the mode.
func (a *Answer) RulesDigest() string {
	if a.row != nil {
		return a.row.rules.digest
	}
	return a.Response().GetRulesDigest()
}

// Route is the result of the sidecar's routes for the request. Nil: the question had none.
func (a *Answer) Route() *Route {
	if a.route != nil {
		return &Route{API: a.route.API, Target: a.route.Target}
	}
	return routeIn(a.Response())
}

func routeIn(response *portcullisv1.CheckResponse) *Route {
	found := response.GetRoute()
	if found == nil {
		return nil
	}
	made := &Route{API: found.GetApi(), Refused: found.GetRefused()}
	if found.GetTarget() != nil {
		target := scopeOf(found.GetTarget())
		made.Target = &target
	}
	return made
}

// Whether the sidecar has found a route, and the client no other one.
func (r *Route) isFoundAs(known *Route) bool {
	if r == nil || r.API == "" || r.Refused != "" {
		return false
	}
	if known == nil {
		return true
	}
	if known.Target == nil || r.Target == nil {
		return known.API == r.API && known.Target == r.Target
	}
	return known.API == r.API && *known.Target == *r.Target
}

// CacheFor is how long the answer may be reused. 0: it must not be reused, as those from memory.
func (a *Answer) CacheFor() time.Duration {
	return max(0, a.Response().GetCacheFor().AsDuration())
}

// Response is the answer of the sidecar itself, with its conflicts and advice. Nil: the answer came from memory.
func (a *Answer) Response() *portcullisv1.CheckResponse {
	if a.said == nil {
		return nil
	}
	return a.said.response
}
