package portcullis

import (
	"errors"
	"strings"
	"unique"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Questions that a cell distinguishes: three scopes with four targets each, then the faults of a credential.
const (
	situationsOfAccount = 4
	situationsOfProject = 8
	situationsOfFaults  = 12
	situations          = 20
)

const (
	targetSame = 1 + iota
	targetOtherProject
	targetOtherAccount
)

// The reason for each question.
type cell [situations]Reason

// A kind of token of the matrix.
type kind struct {
	handle unique.Handle[string]
	id     string
	// A token of it and where it belongs, for a sentence.
	described string
	header    string
	// Before a token in that header. Empty: it has the token alone.
	scheme string
	// Of its tokens among the headers.
	places []kindPlace
	// Where the situations of its level begin.
	level    int
	accepted AcceptedKind
}

type kindPlace struct {
	at unique.Handle[string]
	// Tokens begin with it. Empty: it does not identify them.
	prefix string
}

// The row of an API.
type row struct {
	rules *rules
	// Empty: any API that is not in the matrix.
	api string
	// Indexes of cells: first for any kind that is not in the matrix, then for each kind.
	cells    []uint32
	accepted []AcceptedKind
	// Kind → the notes of its cell.
	notes map[string][]string
}

// The answers of the sidecar about verified tokens. It never changes.
type rules struct {
	digest  string
	kinds   []kind
	headers []credentialHeader
	// The headers that must come with tokens of some places.
	companions []companion
	cells      []cell
	rows       map[string]*row
	// Some of the rows, where a look-up finds them sooner.
	near [nearRows]*row
	// Of APIs that are not in the matrix.
	unknown *row
	// Nil: the sidecar must be asked about each request.
	routes *routes
}

var errRules = errors.New("expected rules with a cell for each API and each kind of token, and the places of each kind")

func rulesOf(message *portcullisv1.Rules) (*rules, error) {
	matrix := message.GetMatrix()
	made := &rules{digest: matrix.GetRulesDigest(), rows: make(map[string]*row, len(message.GetApis())), routes: routesOf(message.GetRoutes())}
	for _, each := range matrix.GetTokenKinds() {
		// Of a sidecar of the release before. Without places, no token would be found in a request.
		if len(each.GetPlaces()) == 0 {
			return nil, errRules
		}
		made.addKind(each)
	}
	made.cells = make([]cell, len(message.GetCells()))
	for index, each := range message.GetCells() {
		if len(each.GetReasons()) < situations {
			return nil, errRules
		}
		for situation, reason := range each.GetReasons()[:situations] {
			made.cells[index][situation] = reasonOf(reason)
		}
	}
	rows := make([]row, len(message.GetApis()))
	accepted := map[string][]AcceptedKind{}
	for index, each := range message.GetApis() {
		if !made.isWhole(each) {
			return nil, errRules
		}
		rows[index] = row{rules: made, api: each.GetApi(), cells: each.GetCells(), accepted: made.acceptedBy(each.GetCells(), accepted), notes: notesOf(each)}
		made.rows[each.GetApi()] = &rows[index]
		made.near[nearness(each.GetApi())] = &rows[index]
	}
	if made.unknown = made.rows[""]; made.unknown == nil {
		return nil, errRules
	}
	return made, nil
}

func (r *rules) addKind(message *portcullisv1.TokenKind) {
	level := situationsOfAccount
	if message.GetScopeLevel() == "project" {
		level = situationsOfProject
	}
	made := kind{
		handle:    unique.Make(message.GetId()),
		id:        message.GetId(),
		described: message.GetDescribed(),
		header:    message.GetHeader(),
		scheme:    message.GetScheme(),
		level:     level,
		accepted:  AcceptedKind{message.GetId(), message.GetHeader(), message.GetScheme(), message.GetIssuable(), obtained(message), message.GetLink()},
	}
	for _, place := range message.GetPlaces() {
		made.places = append(made.places, r.addPlace(place))
	}
	r.kinds = append(r.kinds, made)
}

// Nil: there are none.
func notesOf(message *portcullisv1.ApiCells) map[string][]string {
	var notes map[string][]string
	for _, note := range message.GetNotes() {
		if notes == nil {
			notes = map[string][]string{}
		}
		notes[note.GetKind()] = append(notes[note.GetKind()], note.GetText())
	}
	return notes
}

func (r *rules) addPlace(message *portcullisv1.TokenPlace) kindPlace {
	at := r.headerOf(message.GetHeader()).add(message)
	if with := message.GetWith(); with != "" {
		r.companions = append(r.companions, companion{headerNameOf(with), at})
	}
	return kindPlace{at, message.GetPrefix()}
}

func (r *rules) headerOf(name string) *credentialHeader {
	made := credentialHeader{headerName: headerNameOf(name)}
	for index := range r.headers {
		if r.headers[index].lower == made.lower {
			return &r.headers[index]
		}
	}
	r.headers = append(r.headers, made)
	return &r.headers[len(r.headers)-1]
}

func (r *rules) isWhole(message *portcullisv1.ApiCells) bool {
	for _, index := range message.GetCells() {
		if int(index) >= len(r.cells) {
			return false
		}
	}
	return len(message.GetCells()) == 1+len(r.kinds)
}

// The kinds that open an API. Many APIs have the same ones, which are kept once.
func (r *rules) acceptedBy(cells []uint32, known map[string][]AcceptedKind) []AcceptedKind {
	which := make([]byte, len(r.kinds))
	for index, each := range r.kinds {
		if r.cells[cells[1+index]][each.level] == Allowed {
			which[index] = 1
		}
	}
	if accepted, isKnown := known[string(which)]; isKnown {
		return accepted
	}
	accepted := []AcceptedKind{}
	for index, each := range r.kinds {
		if which[index] == 1 {
			accepted = append(accepted, each.accepted)
		}
	}
	known[string(which)] = accepted
	return accepted
}

const nearRows = 256

// A number for an API that most others of a small matrix do not have.
func nearness(api string) uint8 {
	if api == "" {
		return 0
	}
	return uint8(len(api)) + 7*api[0] + 31*api[len(api)/2] + 101*api[len(api)-1]
}

func (r *rules) row(api string) *row {
	if near := r.near[nearness(api)]; near != nil && near.api == api {
		return near
	}
	if found := r.rows[api]; found != nil {
		return found
	}
	return r.unknown
}

// The column of a kind; 0: it is not in the matrix.
func (r *rules) column(kind unique.Handle[string]) uint32 {
	for index := range r.kinds {
		if r.kinds[index].handle == kind {
			return uint32(index + 1)
		}
	}
	return 0
}

func (r *rules) columnOf(kind string) uint32 {
	for index := range r.kinds {
		if r.kinds[index].id == kind {
			return uint32(index + 1)
		}
	}
	return 0
}

func (r *row) reason(column uint32, situation int) Reason {
	return r.rules.cells[r.cells[column]][situation]
}

// The situation of a token with that scope.
func situationOf(account, project string, target *Scope) int {
	if account == "" {
		return 0
	}
	situation := situationsOfAccount
	if project != "" {
		situation = situationsOfProject
	}
	switch {
	case target == nil:
		return situation
	case target.Account != account:
		return situation + targetOtherAccount
	case target.Project != project:
		return situation + targetOtherProject
	}
	return situation + targetSame
}

// The situation of a fault of the credential; below 0: the reason is not one.
func situationOfFault(reason Reason) int {
	fault := int(reason) - int(CredentialMissing)
	if fault < 0 || fault >= situations-situationsOfFaults {
		return -1
	}
	return situationsOfFaults + fault
}

// Whether these rules would have given an answer (clients/conformance, "Learning").
func (r *rules) wouldGive(question *Question, asked *asked, response *portcullisv1.CheckResponse) bool {
	reason, token, isVerified := reasonOf(response.GetReason()), response.GetToken(), response.GetVerified()
	if reason == Unspecified || response.GetAllowed() != (reason == Allowed) || response.GetRulesDigest() != r.digest {
		return false
	}
	api, target := question.API, question.Target
	if question.Request != nil {
		route := routeIn(response)
		if !route.isFoundAs(asked.route) {
			return false
		}
		api, target = route.API, route.Target
	}
	row := r.row(api)
	if claims := question.Claims; claims != nil {
		situation := situationOf(claims.Scope.Account, claims.Scope.Project, target)
		return token == nil && !isVerified && reason == row.reason(r.columnOf(claims.Kind), situation)
	}
	if token != nil && (asked.value == "" || !isWhole(token)) {
		return false
	}
	column := r.columnOf(token.GetKind())
	if !isVerified {
		return reason == row.reason(column, max(situationOfFault(reason), situationsOfFaults))
	}
	account, project := token.GetScope().GetAccount(), token.GetScope().GetProject()
	return token != nil && r.carries(column, asked.place, asked.value) && reason == row.reason(column, situationOf(account, project, target))
}

// Whether tokens of a kind travel so. Those of a kind that is not in the matrix travel anywhere.
func (r *rules) carries(column uint32, place unique.Handle[string], value string) bool {
	if column == 0 {
		return true
	}
	for _, own := range r.kinds[column-1].places {
		if own.at == place && strings.HasPrefix(value, own.prefix) {
			return true
		}
	}
	return false
}

// Whether changes can name all that a token depends on.
func isWhole(token *portcullisv1.VerifiedToken) bool {
	scope := token.GetScope()
	return token.GetTokenId() != "" && token.GetSubject().GetId() != "" && scope.GetAccount() != "" &&
		(scope.GetProject() == "" || token.GetProjectId() != "")
}

func (r *row) allowedMessage(column uint32) string {
	if column == 0 {
		return "`" + r.api + "` needs no token"
	}
	return "`" + r.api + "` accepts " + r.rules.kinds[column-1].described
}
