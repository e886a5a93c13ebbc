package portcullis

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Error says why a call got no answer. Treat it as a denial.
type Error struct {
	// Code of gRPC.
	Code codes.Code
	// Reason of the sidecar, for example "LOGIN_FAILED". Empty if no sidecar answered.
	Reason string
	// Message for people.
	Message string
	// Violations name the fields of the request that are not as expected.
	Violations []Violation
	// Metadata has further facts, for example a plan for APIs that no single token opens.
	Metadata map[string]string

	cause error
}

// Violation is about a field of a request that is not as expected.
type Violation struct {
	Field, Description string
}

func (e *Error) Error() string { return "portcullis: " + e.text() }

func (e *Error) text() string { return e.name() + " " + e.Message }

// Unwrap returns the error of the context, if it ended the call.
func (e *Error) Unwrap() error { return e.cause }

// GRPCStatus lets a service of gRPC return the error as it is.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// The name of the code as the contract writes it: "UNAVAILABLE".
func (e *Error) name() string { return code.Code(e.Code).String() }

// ErrPlaintext says that a secret would be sent to another machine in plaintext.
var ErrPlaintext = errors.New("the sidecar is on another machine, and a secret would be sent to it in plaintext: set TLS, or AllowPlaintext if something else encrypts the connection")

// Calls a function of the program that learns of an error. If it panics, that is logged, and the client goes on.
func reportTo(report func(error), err error) {
	defer func() {
		if failed := recover(); failed != nil {
			log.Print("portcullis: what is called with an error has failed: ", failed)
		}
	}()
	report(err)
}

// Says whether the times of an answer are such. One that is not there is.
func expectTimes(times ...*timestamppb.Timestamp) error {
	for _, each := range times {
		if each != nil && !each.IsValid() {
			return &Error{Code: codes.Internal, Message: "the sidecar sent an answer that cannot be: expected a time"}
		}
	}
	return nil
}

// The error of a client for an error of gRPC.
func errorOf(ctx context.Context, err error, address string) error {
	if err == nil {
		return nil
	}
	found := status.Convert(err)
	made := &Error{Code: found.Code(), Message: found.Message(), cause: ctx.Err()}
	for _, detail := range found.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			made.Reason, made.Metadata = detail.GetReason(), detail.GetMetadata()
		case *errdetails.BadRequest:
			for _, each := range detail.GetFieldViolations() {
				made.Violations = append(made.Violations, Violation{each.GetField(), each.GetDescription()})
			}
		}
	}
	switch {
	case made.Code == codes.DeadlineExceeded && made.Reason == "":
		made.Message = "no answer from " + address + " in time"
	case made.Code == codes.Unavailable && made.Reason == "":
		made.Message = fmt.Sprintf("no sidecar answers at %s (%s)", address, made.Message)
	}
	return made
}

// Whether an address of gRPC is on this machine: a Unix socket or loopback. A name that only resolves to loopback is not.
func isThisMachine(address string) bool {
	if strings.HasPrefix(address, "unix:") || strings.HasPrefix(address, "unix-abstract:") {
		return true
	}
	address = strings.TrimPrefix(address, "passthrough:///")
	if after, isDNS := strings.CutPrefix(address, "dns:"); isDNS {
		address = strings.TrimPrefix(after, "///")
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
