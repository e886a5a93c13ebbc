package portcullis

import (
	"strings"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Reason says why a decision is as it is, in the words of the contract: "ALLOWED", "ACCOUNT_MISMATCH".
type Reason string

// Reasons that a program may want to tell from others. The contract (decision.proto) explains all of them.
const (
	// Allowed is the only reason that lets a request pass.
	Allowed Reason = "ALLOWED"
	// Unspecified stands for a reason that this client does not know. It denies.
	Unspecified Reason = "UNSPECIFIED"
	// AccountMismatch says that the target belongs to another account than the token.
	AccountMismatch Reason = "ACCOUNT_MISMATCH"
	// ProjectMismatch says that the target is in another project than the token.
	ProjectMismatch Reason = "PROJECT_MISMATCH"

	unknownAPI Reason = "UNKNOWN_API"
)

// Names by the number of the reason.
var reasonNames = func() []Reason {
	names := make([]Reason, len(portcullisv1.Reason_name))
	for number, name := range portcullisv1.Reason_name {
		names[number] = Reason(strings.TrimPrefix(name, "REASON_"))
	}
	return names
}()

func nameOf(reason portcullisv1.Reason) Reason {
	if reason < 0 || int(reason) >= len(reasonNames) {
		return Unspecified
	}
	return reasonNames[reason]
}
