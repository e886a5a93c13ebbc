package main

import (
	"fmt"
	"math"
)

// The state of an account, a project or a user.
type status int8

const (
	absent status = iota
	disabled
	enabled
)

func enabledIf(yes bool) status {
	if yes {
		return enabled
	}
	return disabled
}

// The token of every history that the directory has from the beginning: the static token of the panel user.
const staticToken = 0

// directory is the account of a history as one process would keep it that does one thing after the other.
//
// An IAM token is active from its issue to the first moment at which something that it needs is not there:
// its account, its user with the password of then, its permission, and its project if it has one. That
// moment ends it for good. The static token only needs its account and its user to be enabled now.
type directory struct {
	account, project, robot, panelUser status
	// The password that logs in as the robot; 0: there is none.
	password int32
	// The permissions of the robot: for the account, and for the project.
	ofAccount, ofProject bool
	// The robot has the role `iam.admin`.
	administers bool
	// No client of a history has an address of those that the account allows.
	restricted bool
	// Tokens by their numbers: those that were issued, those for the project, those that have ended.
	issued, projects, ended uint64
	// Operations of the history that have taken place and that others must come after.
	done operations
}

// opening is the directory when a history begins.
func opening() directory {
	return directory{
		account: enabled, project: enabled, robot: enabled, panelUser: enabled,
		password: 1, ofAccount: true, issued: 1 << staticToken,
	}
}

// step does one operation, where it is its turn. It returns whether the directory may give the answer that
// the operation got.
func (d directory) step(o *operation) (bool, directory) {
	if !d.done.contains(o.after) || !d.isTurnOf(o) {
		return false, d
	}
	return d.do(o)
}

// isTurnOf reports whether no other operation comes first. An operation without an effect that can take place now need not be
// tried at other times, and the order of several does not matter. Without this the search would try each subset of them.
func (d directory) isTurnOf(o *operation) bool {
	var first int64 = math.MaxInt64
	for _, other := range o.history.Operations {
		if !d.done.has(other.index) {
			first = min(first, other.end)
		}
	}
	for _, other := range o.history.Operations {
		if other == o && !o.alters() {
			return true
		}
		if other.alters() || other.begin > first || d.done.has(other.index) || !d.done.contains(other.after) {
			continue
		}
		if possible, _ := d.do(other); possible {
			return false
		}
	}
	return true
}

func (d directory) do(o *operation) (bool, directory) {
	d.done = d.done.with(o.index)
	switch o.What {
	case "check":
		return d.status(o.Token) == o.Answer, d
	case "readUser":
		return o.read() == d.read(), d
	case "issue":
		return d.issue(o)
	}
	answer, changed := d.change(o)
	changed.end()
	return o.Answer == answer || o.Answer == unknown, changed
}

// status is the answer to a check of the token.
func (d directory) status(token int) string {
	bit := uint64(1) << token
	switch {
	case d.issued&bit == 0:
		return "NOT ISSUED YET"
	case d.ended&bit != 0:
		return "CREDENTIAL_REVOKED"
	case token == staticToken && (d.account != enabled || d.panelUser != enabled):
		return "CREDENTIAL_REVOKED"
	case d.restricted:
		return "ADDRESS_NOT_ALLOWED"
	}
	return "ALLOWED"
}

func (d directory) read() string {
	if d.robot == absent {
		return "NOT_FOUND"
	}
	return readUser(d.robot == enabled, d.ofAccount, d.administers)
}

func readUser(isEnabled, ofAccount, administers bool) string {
	return fmt.Sprintf("enabled %t, account %t, administers %t", isEnabled, ofAccount, administers)
}

// issue is a login. A sidecar looks at the password first and at the permission later, so it may answer that
// the permission is missing when the password is no longer right either.
func (d directory) issue(o *operation) (bool, directory) {
	loggedIn := d.account == enabled && d.robot == enabled && d.password == o.Password
	permitted := loggedIn && d.permits(o.Scope == "project")
	switch o.Answer {
	case "OK":
		bit := uint64(1) << o.Token
		d.issued |= bit
		if o.Scope == "project" {
			d.projects |= bit
		}
		return permitted, d
	case "LOGIN_FAILED":
		return !loggedIn, d
	case "PERMISSION_MISSING":
		return !permitted, d
	}
	return false, d
}

func (d directory) permits(forProject bool) bool {
	if forProject {
		return (d.ofAccount || d.ofProject) && d.project == enabled
	}
	return d.ofAccount
}

// end ends the tokens that miss something now.
func (d *directory) end() {
	iam := d.issued &^ (1 << staticToken)
	if d.account != enabled || d.robot != enabled {
		d.ended |= iam
		return
	}
	if !d.permits(false) {
		d.ended |= iam &^ d.projects
	}
	if !d.permits(true) {
		d.ended |= iam & d.projects
	}
}

func (d *directory) endCredentials(password int32) {
	d.password = password
	d.ended |= d.issued &^ (1 << staticToken)
}

// change returns the answer to a change, and the directory after it.
func (d directory) change(o *operation) (string, directory) {
	if o.What == "revoke" {
		d.ended |= 1 << o.Token
		return "OK", d
	}
	if d.account == absent {
		return "NOT_FOUND", d
	}
	switch o.What {
	case "updateAccount":
		d.account = enabledIf(is(o.Enabled))
	case "deleteAccount":
		d.account, d.project, d.robot, d.panelUser = absent, absent, absent, absent
	case "restrict":
		d.restricted = o.Restricted
	case "updateOwner":
		d.panelUser = enabledIf(is(o.Enabled))
	case "createProject", "updateProject", "deleteProject":
		return d.changeProject(o)
	default:
		return d.changeRobot(o)
	}
	return "OK", d
}

func (d directory) changeProject(o *operation) (string, directory) {
	switch {
	case o.What == "createProject" && d.project != absent:
		return "ALREADY_EXISTS", d
	case o.What == "createProject":
		d.project = enabled
	case d.project == absent:
		return "NOT_FOUND", d
	case o.What == "updateProject":
		d.project = enabledIf(is(o.Enabled))
	case o.What == "deleteProject":
		// A later project of the same name is another one.
		d.project, d.ofProject = absent, false
	}
	return "OK", d
}

func (d directory) changeRobot(o *operation) (string, directory) {
	switch {
	case o.What == "createUser" && d.robot != absent:
		return "ALREADY_EXISTS", d
	case o.What != "createUser" && d.robot == absent:
		return "NOT_FOUND", d
	case o.OfProject && d.project == absent:
		return "NO_SUCH_PROJECT", d
	}
	switch o.What {
	case "createUser":
		d.robot, d.password, d.administers = enabled, o.Password, false
		d.ofAccount, d.ofProject = is(o.OfAccount), o.OfProject
	case "updateUser":
		d.updateRobot(o)
	case "deleteUser":
		d.robot = absent
	case "replacePassword":
		d.endCredentials(o.Password)
	default:
		panic(fmt.Sprintf("unknown operation %q", o.What))
	}
	return "OK", d
}

// updateRobot changes what the operation says, and leaves the rest as it is.
func (d *directory) updateRobot(o *operation) {
	if o.Enabled != nil {
		d.robot = enabledIf(*o.Enabled)
	}
	if o.OfAccount != nil {
		d.ofAccount, d.ofProject = *o.OfAccount, o.OfProject
	}
	if o.Administers != nil {
		if *o.Administers && !d.administers {
			d.endCredentials(0)
		}
		d.administers = *o.Administers
	}
}

func is(said *bool) bool {
	return said != nil && *said
}
