package portcullis

import (
	"time"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// AcceptedKind is a kind of token that an API accepts.
type AcceptedKind struct {
	// Kind is its id.
	Kind string `json:"kind"`
	// Header to send it in.
	Header string `json:"header"`
	// Issuable says whether Issue can issue it.
	Issuable bool `json:"issuable"`
}

// Answer is a decision. It came from the sidecar, or from the memory of a client in local mode. The zero Answer denies.
type Answer struct {
	// Allowed says whether the credential opens the API.
	Allowed bool
	// Reason for the decision.
	Reason Reason

	response *portcullisv1.CheckResponse
	local    decision
}

// What an answer from memory is made of.
type decision struct {
	rules *rules
	row   *row
	// Of the kind; 0: it is not in the matrix.
	column int
	// Nil: the decision is not about a known token.
	entry *entry
	// Whether that token is in force.
	isVerified bool
	// Of a denial, as the sidecar says them.
	words words
}

func answerOf(response *portcullisv1.CheckResponse) Answer {
	reason := nameOf(response.GetReason())
	// A reason that this client does not know may stand for anything, so it is a denial.
	return Answer{Allowed: response.GetAllowed() && reason == Allowed, Reason: reason, response: response}
}

// Message explains the decision for people, with what to do.
func (a *Answer) Message() string {
	switch {
	case a.response != nil:
		return a.response.GetMessage()
	case a.Allowed:
		return a.local.rules.allowedMessage(a.local.row, a.local.column)
	}
	return a.local.words.message
}

// Header is the request header for tokens of this kind. Empty: the kind is not known.
func (a *Answer) Header() string {
	switch {
	case a.response != nil:
		return a.response.GetHeader()
	case a.Allowed:
		return a.local.rules.kinds[a.local.column-1].header
	}
	return a.local.words.header
}

// Accepted names, on a denial, every kind of token that the API accepts.
func (a *Answer) Accepted() []AcceptedKind {
	if a.response != nil {
		accepted := make([]AcceptedKind, 0, len(a.response.GetAccepted()))
		for _, each := range a.response.GetAccepted() {
			accepted = append(accepted, AcceptedKind{each.GetKind(), each.GetHeader(), each.GetIssuable()})
		}
		return accepted
	}
	if a.Allowed || a.local.row == nil {
		return nil
	}
	return a.local.row.accepted
}

// Token is the verified token, if there is one. It is there on denials too.
func (a *Answer) Token() *Token {
	switch {
	case a.response != nil:
		return tokenOf(a.response.GetToken())
	case a.local.entry != nil && a.Reason != unknownAPI:
		return a.local.entry.token()
	}
	return nil
}

// Verified says whether the credential was verified. False for claims.
func (a *Answer) Verified() bool {
	if a.response != nil {
		return a.response.GetVerified()
	}
	return a.local.isVerified && a.Reason != unknownAPI
}

// RulesDigest names the exact rules: the matrix and the mode.
func (a *Answer) RulesDigest() string {
	if a.response != nil {
		return a.response.GetRulesDigest()
	}
	if a.local.rules == nil {
		return ""
	}
	return a.local.rules.digest
}

// CacheFor is how long the answer may be reused. 0: it must not be reused, as those from memory.
func (a *Answer) CacheFor() time.Duration {
	return max(0, a.response.GetCacheFor().AsDuration())
}

// Response is the answer of the sidecar itself, with its conflicts and advice. Nil: the answer came from memory.
func (a *Answer) Response() *portcullisv1.CheckResponse {
	return a.response
}
