package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/anishathalye/porcupine"
)

// The answer to a change whose client does not know whether it took effect.
const unknown = "UNKNOWN"

// Most operations of a history that may precede others.
const operationsMax = 256

// operations is a set of operations, by their indexes.
type operations [operationsMax / 64]uint64

func (o operations) with(index int) operations {
	o[index/64] |= 1 << (index % 64)
	return o
}

func (o operations) has(index int) bool {
	return o[index/64]&(1<<(index%64)) != 0
}

func (o operations) contains(other operations) bool {
	for word := range o {
		if other[word]&^o[word] != 0 {
			return false
		}
	}
	return true
}

// operation is a call of a client, as it was recorded. Times are of one monotonic clock, in microseconds.
type operation struct {
	Client int    `json:"client"`
	Host   string `json:"host"`
	// The process that answered a check, if it is known which one that was.
	Process  string `json:"process"`
	CallUs   int64  `json:"call_us"`
	ReturnUs int64  `json:"return_us"`
	What     string `json:"what"`
	Answer   string `json:"answer"`

	Token     int    `json:"token"`
	Scope     string `json:"scope"`
	Password  int32  `json:"password"`
	OfProject bool   `json:"of_project"`
	// Absent where the operation does not say it.
	Enabled     *bool `json:"enabled"`
	OfAccount   *bool `json:"of_account"`
	Administers *bool `json:"administers"`
	Restricted  bool  `json:"restricted"`

	history *history
	index   int
	// When it may have taken place, and after which others it must have.
	begin, end int64
	after      operations
}

func (o *operation) changes() bool {
	return o.What != "check" && o.What != "readUser" && o.What != "issue"
}

// alters reports whether the directory may be another one after it.
func (o *operation) alters() bool {
	return o.changes() || o.What == "issue" && o.Answer == "OK"
}

// read is the answer to a read of the robot.
func (o *operation) read() string {
	if o.Answer != "OK" {
		return o.Answer
	}
	return readUser(is(o.Enabled), is(o.OfAccount), is(o.Administers))
}

// history has the operations of the clients of one account.
type history struct {
	Seed int `json:"seed"`
	// A check may be answered by a directory that was true this long ago, and no longer.
	StalenessUs int64        `json:"staleness_us"`
	Operations  []*operation `json:"operations"`
}

// prepare says of each operation when it may have taken place, and after which others it must have.
//
// A check may be answered as of any moment from the bound before its call to its return. But:
//   - what its host has acknowledged before the call has taken place before it, and
//   - what the process has answered about the token before the call is true of no later moment.
//
// Everything else takes place between its call and its return. An operation without an answer may take place at any time
// after its call, or never, which is the same as after everything else.
func (h *history) prepare() ([]porcupine.Operation, error) {
	if len(h.Operations) > operationsMax {
		return nil, fmt.Errorf("a history has at most %d operations, found %d", operationsMax, len(h.Operations))
	}
	for index, o := range h.Operations {
		o.history, o.index = h, index
		if o.Token < 0 || o.Token > 63 {
			return nil, fmt.Errorf("operation %d: expected a token from 0 to 63, found %d", index, o.Token)
		}
		if o.ReturnUs < o.CallUs {
			return nil, fmt.Errorf("operation %d returned before its call", index)
		}
	}
	prepared := make([]porcupine.Operation, 0, len(h.Operations))
	for _, o := range h.Operations {
		o.begin, o.end = o.CallUs, o.ReturnUs
		if o.What == "check" {
			o.begin -= h.StalenessUs
			o.after = h.before(o)
		}
		if o.Answer == unknown {
			o.end = math.MaxInt64
		}
		prepared = append(prepared, porcupine.Operation{Input: o, Call: o.begin, Output: o.Answer, Return: o.end})
	}
	inRows(prepared)
	return prepared, nil
}

// before are the operations that a check must come after.
func (h *history) before(check *operation) operations {
	var before operations
	for _, o := range h.Operations {
		if o.ReturnUs >= check.CallUs {
			continue
		}
		acknowledged := o.changes() && o.Answer == "OK" && o.Host == check.Host
		answered := o.What == "check" && o.Process != "" && o.Process == check.Process && o.Token == check.Token
		if acknowledged || answered {
			before = before.with(o.index)
		}
	}
	return before
}

// inRows numbers the rows of the picture so that no two operations of one overlap.
func inRows(prepared []porcupine.Operation) {
	var ends []int64
	for index := range prepared {
		row := 0
		for row < len(ends) && ends[row] >= prepared[index].Call {
			row++
		}
		if row == len(ends) {
			ends = append(ends, 0)
		}
		ends[row] = prepared[index].Return
		prepared[index].ClientId = row
	}
}

func (o *operation) describe() string {
	var details []string
	add := func(format string, value any) { details = append(details, fmt.Sprintf(format, value)) }
	switch o.What {
	case "check", "revoke":
		add("token %d", o.Token)
	case "issue":
		add("token %d", o.Token)
		add("%s", o.Scope)
		add("password %d", o.Password)
	case "updateUser":
		if o.Enabled != nil {
			add("enabled %t", *o.Enabled)
		}
		if o.OfAccount != nil {
			add("account %t", *o.OfAccount)
			add("project %t", o.OfProject)
		}
		if o.Administers != nil {
			add("administers %t", *o.Administers)
		}
	case "updateAccount", "updateProject", "updateOwner":
		add("enabled %t", is(o.Enabled))
	case "replacePassword", "createUser":
		add("password %d", o.Password)
	case "restrict":
		add("restricted %t", o.Restricted)
	}
	answer := o.Answer
	if o.What == "readUser" {
		answer = o.read()
	}
	return fmt.Sprintf("%s(%s) on %s: %s", o.What, strings.Join(details, ", "), o.Host, answer)
}
