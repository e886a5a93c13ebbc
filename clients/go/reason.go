package portcullis

import (
	"strings"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Reason says why a decision is as it is. The contract (decision.proto) explains each of them.
type Reason uint8

// The reasons, in descending precedence.
const (
	// Unspecified stands for a reason that this client does not know. It denies.
	Unspecified Reason = iota
	UnknownAPI
	CredentialMissing
	CredentialAmbiguous
	CredentialMalformed
	WrongHeader
	CredentialInvalid
	CredentialExpired
	CredentialRevoked
	AddressNotAllowed
	UnknownTokenKind
	InvalidScope
	TokenKindNotAccepted
	Contested
	AccountMismatch
	ProjectMismatch
	// Allowed is the only reason that lets a request pass.
	Allowed

	reasonsEnd
)

// String returns the name in the contract: "ACCOUNT_MISMATCH".
func (r Reason) String() string {
	return strings.TrimPrefix(portcullisv1.Reason(r).String(), "REASON_")
}

func reasonOf(reason portcullisv1.Reason) Reason {
	if reason < 0 || reason >= portcullisv1.Reason(reasonsEnd) {
		return Unspecified
	}
	return Reason(reason)
}
