package portcullis

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// The suite that all clients run (clients/conformance/README.md). CONFORMANCE names another folder, with other traces.
func suite() string {
	if folder := os.Getenv("CONFORMANCE"); folder != "" {
		return folder
	}
	return filepath.Join(here, "../conformance")
}

// The lines of a file of the suite, without the first one.
func linesOf[Line any](t testing.TB, name string) (lines []Line) {
	t.Helper()
	file, err := os.Open(filepath.Join(suite(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 64<<20)
	for isFirst := true; scanner.Scan(); isFirst = false {
		if isFirst {
			if scanner.Text() != `{"version":6}` {
				t.Fatalf("%s: expected version 6, found %s", name, scanner.Text())
			}
			continue
		}
		var line Line
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatal(name, err)
		}
		lines = append(lines, line)
	}
	if err := scanner.Err(); err != nil || len(lines) == 0 {
		t.Fatalf("%s: expected lines, found %v", name, err)
	}
	return lines
}

func rulesMessage(t testing.TB, name string) *portcullisv1.Rules {
	t.Helper()
	encoded, err := os.ReadFile(filepath.Join(suite(), "rules", name+".binpb"))
	if err != nil {
		t.Fatal(err)
	}
	message := &portcullisv1.Rules{}
	if err := proto.Unmarshal(encoded, message); err != nil {
		t.Fatal(err)
	}
	return message
}

type scopeJSON struct {
	Account string `json:"account"`
	Project string `json:"project,omitempty"`
}

func (s *scopeJSON) scope() *Scope {
	if s == nil {
		return nil
	}
	return &Scope{s.Account, s.Project}
}

func reasonNamed(t testing.TB, name string) Reason {
	t.Helper()
	for reason := range reasonsEnd {
		if reason.String() == name {
			return reason
		}
	}
	t.Fatalf("expected a reason, found %s", name)
	return Unspecified
}

func TestConformanceOfDecisions(t *testing.T) {
	type line struct {
		Questions []struct {
			Scope, Target *scopeJSON
			Fault         string
		}
		Rules, Kind, API string
		APIs, Reasons    []string
		Accepted         []AcceptedKind
	}
	lines := linesOf[line](t, "decisions.jsonl")
	questions, known := lines[0].Questions, map[string]*rules{}
	for _, each := range lines[1:] {
		if known[each.Rules] == nil {
			made, err := rulesOf(rulesMessage(t, each.Rules))
			if err != nil {
				t.Fatal(err)
			}
			known[each.Rules] = made
		}
		rules := known[each.Rules]
		if each.APIs == nil {
			if accepted := rules.row(each.API).accepted; !slices.Equal(accepted, each.Accepted) {
				t.Errorf("%s %s: expected %v, found %v", each.Rules, each.API, each.Accepted, accepted)
			}
		}
		for _, api := range each.APIs {
			for index, question := range questions {
				situation := 0
				if question.Fault != "" {
					situation = situationOfFault(reasonNamed(t, question.Fault))
				} else {
					situation = situationOf(question.Scope.Account, question.Scope.Project, question.Target.scope())
				}
				found := rules.row(api).reason(rules.columnOf(each.Kind), situation)
				if found.String() != each.Reasons[index] {
					t.Errorf("%s %s %s %+v: expected %s, found %s", each.Rules, api, each.Kind, question, each.Reasons[index], found)
				}
			}
		}
	}
}

// A text, or bytes, or pieces that are repeated.
type valueJSON string

func (v *valueJSON) UnmarshalJSON(encoded []byte) error {
	if encoded[0] == '"' {
		return json.Unmarshal(encoded, (*string)(v))
	}
	var other struct {
		Base64 string
		Pieces [][2]any
	}
	if err := json.Unmarshal(encoded, &other); err != nil {
		return err
	}
	decoded, err := base64.StdEncoding.DecodeString(other.Base64)
	text := string(decoded)
	for _, piece := range other.Pieces {
		text += strings.Repeat(piece[0].(string), int(piece[1].(float64)))
	}
	*v = valueJSON(text)
	return err
}

// A header, and how often it is repeated.
type headerJSON struct {
	name  string
	value valueJSON
	count int
}

func (h *headerJSON) UnmarshalJSON(encoded []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(encoded, &parts); err != nil {
		return err
	}
	h.count = 1
	into := []any{&h.name, &h.value, &h.count}
	var all error
	for index, part := range parts {
		all = errors.Join(all, json.Unmarshal(part, into[index]))
	}
	return all
}

func TestConformanceOfCredentials(t *testing.T) {
	type line struct {
		Name    string
		Names   []string
		Places  []*portcullisv1.TokenPlace
		Headers []headerJSON
		Found   []valueJSON
		Fault   string
	}
	for _, each := range linesOf[line](t, "credentials.jsonl") {
		t.Run(each.Name, func(t *testing.T) {
			made := &rules{}
			for _, name := range each.Names {
				header, scheme, _ := strings.Cut(name, ": ")
				each.Places = append(each.Places, &portcullisv1.TokenPlace{Header: header, Scheme: scheme})
			}
			for _, place := range each.Places {
				if place.Basic != "" {
					place.Scheme = "Basic"
				}
				made.addPlace(place)
			}
			// As each of the forms in which a program has them.
			pairs := Question{Headers: []Header{}}
			http, calls := map[string][]string{}, map[string][]string{}
			for _, header := range each.Headers {
				lower := headerNameOf(header.name)
				for range header.count {
					pairs.Headers = append(pairs.Headers, Header{header.name, string(header.value)})
					http[lower.canonical] = append(http[lower.canonical], string(header.value))
					calls[lower.lower] = append(calls[lower.lower], string(header.value))
				}
			}
			for form, question := range map[string]Question{"pairs": pairs, "HTTP": {HTTP: http}, "calls": {Metadata: calls}} {
				var found found
				made.find(&question, &found)
				fault := found.fault()
				if each.Fault != "" {
					if fault.String() != each.Fault {
						t.Errorf("%s: expected %s, found %s", form, each.Fault, fault)
					}
					continue
				}
				place := string(each.Found[0])
				for _, more := range each.Found[2:] {
					place += " " + string(more)
				}
				value, foundPlace, isThere := found.token()
				if fault != Unspecified || !isThere || foundPlace.Value() != place || value != string(each.Found[1]) {
					t.Errorf("%s: expected %s, found %+v %s", form, each.Found, found, fault)
				}
			}
		})
	}
}

type requestJSON struct {
	Method, Host, Path string
	Headers            []headerJSON
}

// The question about a request, in each of the forms in which a program has headers.
func (r *requestJSON) questions() map[string]*Question {
	request := &Request{r.Method, r.Host, r.Path}
	pairs := &Question{Request: request, Headers: []Header{}}
	http, calls := map[string][]string{}, map[string][]string{}
	for _, header := range r.Headers {
		name := headerNameOf(header.name)
		for range header.count {
			pairs.Headers = append(pairs.Headers, Header{header.name, string(header.value)})
			http[name.canonical] = append(http[name.canonical], string(header.value))
			calls[name.lower] = append(calls[name.lower], string(header.value))
		}
	}
	return map[string]*Question{"pairs": pairs, "HTTP": {Request: request, HTTP: http}, "calls": {Request: request, Metadata: calls}}
}

type routeJSON struct {
	API     string     `json:"api,omitempty"`
	Target  *scopeJSON `json:"target,omitempty"`
	Refused string     `json:"refused,omitempty"`
}

// A route in the form of `expect`.
func (r *Route) inJSON() any {
	if r == nil {
		return "ask"
	}
	found := map[string]any{"api": r.API}
	if r.Target != nil {
		target := map[string]string{"account": r.Target.Account}
		if r.Target.Project != "" {
			target["project"] = r.Target.Project
		}
		found["target"] = target
	}
	return found
}

func TestConformanceOfRoutes(t *testing.T) {
	type line struct {
		Name     string
		Routes   []byte
		Requests []struct {
			requestJSON
			Expect any
		}
	}
	for _, each := range linesOf[line](t, "routes.jsonl") {
		t.Run(each.Name, func(t *testing.T) {
			message := &portcullisv1.Routes{}
			if err := proto.Unmarshal(each.Routes, message); err != nil {
				t.Fatal(err)
			}
			routes := routesOf(message)
			for _, request := range each.Requests {
				for form, question := range request.questions() {
					if found := inJSON(t, routes.find(question).inJSON()); !reflect.DeepEqual(found, request.Expect) {
						t.Errorf("%s %+v: expected %v, found %v", form, *question.Request, request.Expect, found)
					}
				}
			}
		})
	}
}

type positionJSON [2]int64

func (p *positionJSON) message(basis string) *portcullisv1.Position {
	if p == nil {
		return nil
	}
	return &portcullisv1.Position{Change: p[0], RecordedAt: timestamppb.New(time.UnixMilli(p[1])), Basis: basis}
}

type stepJSON struct {
	AtMS   float64  `json:"at_ms"`
	WallMS *float64 `json:"wall_ms"`
	Begin  *struct{}
	Hear   *struct {
		Position   *positionJSON
		ValidForMS *float64 `json:"valid_for_ms"`
		SentAtMS   *float64 `json:"sent_at_ms"`
		Basis      string
		DayMS      *int64 `json:"time_of_day_ms"`
		Rules      string
		RulesPart  string `json:"rules_part"`
		Voided     json.RawMessage
	}
	Check *struct {
		API, Kind, Address string
		Request            *requestJSON
		Scope, Target      *scopeJSON
		Headers            []headerJSON
	}
	Learn *struct {
		Of                      int
		Allowed                 *bool
		Reason, Message, Header string
		Verified                bool
		Position                *positionJSON
		Basis                   string
		SameRules               *bool `json:"same_rules"`
		Route                   *routeJSON
		Token                   *struct {
			ID, Kind, Account, Project, User string
			ExpiresAtMS                      *int64   `json:"expires_at_ms"`
			DerivedFrom                      []string `json:"derived_from"`
			ProjectID                        string   `json:"project_id"`
		}
	}
	Expect json.RawMessage
}

type traceJSON struct {
	Name    string
	Options struct {
		TokensMax *int `json:"tokens_max"`
		Accounts  []string
	}
	Steps []stepJSON
}

// Plays the steps of a trace.
type player struct {
	t      testing.TB
	memory *memory
	clock  *elapsed
	// By step.
	questions map[int]*Question
	asked     map[int]asked
	digest    string
}

func TestConformanceOfTraces(t *testing.T) {
	for _, trace := range linesOf[traceJSON](t, "traces.jsonl") {
		t.Run(trace.Name, func(t *testing.T) {
			tokensMax := tokensMaxDefault
			if trace.Options.TokensMax != nil {
				tokensMax = *trace.Options.TokensMax
			}
			player := player{t: t, memory: newMemory(trace.Options.Accounts, tokensMax), clock: newElapsed(0, 0), questions: map[int]*Question{}, asked: map[int]asked{}}
			for number, step := range trace.Steps {
				found := player.play(number, step)
				if step.Expect == nil {
					continue
				}
				var expected any
				if err := json.Unmarshal(step.Expect, &expected); err != nil {
					t.Fatal(err)
				}
				if found = inJSON(t, found); !reflect.DeepEqual(found, expected) {
					t.Fatalf("step %d: expected %v, found %v", number, expected, found)
				}
			}
		})
	}
}

func inJSON(t testing.TB, value any) (result any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil || json.Unmarshal(encoded, &result) != nil {
		t.Fatal(err)
	}
	return result
}

// The act of the client in the step, in the form of `expect`.
func (p *player) play(number int, step stepJSON) any {
	wall := step.AtMS
	if step.WallMS != nil {
		wall = *step.WallMS
	}
	now := p.clock.read(int64(wall*float64(time.Millisecond)), int64(step.AtMS*float64(time.Millisecond)))
	switch {
	case step.Begin != nil:
		request := p.memory.begin(now, p.clock.jumped.Load())
		began := map[string]any{"accounts": append([]string{}, request.GetAccounts()...), "after": nil, "basis": request.GetAfter().GetBasis()}
		if after := request.GetAfter(); after != nil {
			began["after"] = positionJSON{after.GetChange(), after.GetRecordedAt().AsTime().UnixMilli()}
		}
		return began
	case step.Hear != nil:
		return p.hear(step, now)
	case step.Check != nil:
		return p.check(number, step, now)
	}
	return p.learn(step)
}

func (p *player) hear(step stepJSON, now int64) string {
	hear := step.Hear
	response := &portcullisv1.WatchChangesResponse{
		Position: hear.Position.message(hear.Basis), ValidFor: durationOf(hear.ValidForMS), SentAt: durationOf(hear.SentAtMS),
	}
	if hear.DayMS != nil {
		response.TimeOfDay = timestamppb.New(time.UnixMilli(*hear.DayMS))
	}
	if hear.RulesPart != "" {
		response.RulesPart = rulesMessage(p.t, hear.RulesPart)
	}
	if hear.Rules != "" {
		response.Rules = rulesMessage(p.t, hear.Rules)
		p.digest = response.GetRules().GetMatrix().GetRulesDigest()
	}
	if hear.Voided != nil {
		var named struct {
			TokenIDs   []string `json:"token_ids"`
			UserIDs    []string `json:"user_ids"`
			Accounts   []string
			ProjectIDs []string `json:"project_ids"`
		}
		response.Voided = &portcullisv1.Voided{Everything: string(hear.Voided) == `"everything"`}
		if !response.Voided.Everything {
			if err := json.Unmarshal(hear.Voided, &named); err != nil {
				p.t.Fatal(err)
			}
			response.Voided.TokenIds, response.Voided.UserIds = named.TokenIDs, named.UserIDs
			response.Voided.Accounts, response.Voided.ProjectIds = named.Accounts, named.ProjectIDs
		}
	}
	goesOn, err := p.memory.hear(response, now, p.clock.jumped.Load())
	switch {
	case err != nil:
		return "refused"
	case goesOn:
		return "followed"
	}
	return "left"
}

func durationOf(milliseconds *float64) *durationpb.Duration {
	if milliseconds == nil {
		return nil
	}
	return durationpb.New(time.Duration(*milliseconds * float64(time.Millisecond)))
}

func (p *player) check(number int, step stepJSON, now int64) any {
	check := step.Check
	question := &Question{API: check.API, Target: check.Target.scope(), ClientAddress: check.Address}
	if check.Scope != nil {
		question.Claims = &Claims{Kind: check.Kind, Scope: *check.Scope.scope()}
	} else {
		question.Headers = []Header{}
		for _, header := range check.Headers {
			question.Headers = append(question.Headers, Header{header.name, string(header.value)})
		}
	}
	if request := check.Request; request != nil {
		question.Request = &Request{request.Method, request.Host, request.Path}
	}
	var answer Answer
	if p.memory.answer(question, now, &answer) {
		found := map[string]any{"allowed": answer.Allowed, "reason": answer.Reason.String(), "message": answer.Message()}
		if advice := answer.Advice(); len(advice) > 0 {
			found["advice"] = advice
		}
		if question.Request != nil {
			found["route"] = answer.Route().inJSON()
		}
		return found
	}
	p.questions[number], p.asked[number] = question, p.memory.asked(question, now)
	return "ask"
}

// The answer that the program gets.
func (p *player) learn(step stepJSON) any {
	learn := step.Learn
	if p.questions[learn.Of] == nil {
		p.t.Fatalf("step %d did not ask", learn.Of)
	}
	reason := portcullisv1.Reason(999)
	switch learn.Reason {
	case "":
		reason = 0
	case "UNSPECIFIED":
	default:
		reason = portcullisv1.Reason(reasonNamed(p.t, learn.Reason))
	}
	allowed := learn.Reason == "ALLOWED"
	if learn.Allowed != nil {
		allowed = *learn.Allowed
	}
	response := &portcullisv1.CheckResponse{
		Allowed: allowed, Reason: reason, Message: learn.Message, Header: learn.Header, Verified: learn.Verified,
		Position: learn.Position.message(learn.Basis), RulesDigest: p.digest,
	}
	if route := learn.Route; route != nil {
		response.Route = &portcullisv1.FoundRoute{Api: route.API, Refused: route.Refused}
		if route.Target != nil {
			response.Route.Target = route.Target.scope().message()
		}
	}
	if learn.SameRules != nil && !*learn.SameRules {
		response.RulesDigest = "others"
	}
	if token := learn.Token; token != nil {
		response.Token = &portcullisv1.VerifiedToken{
			TokenId: token.ID, Kind: token.Kind, Scope: &portcullisv1.Scope{Account: token.Account, Project: token.Project},
			Subject: &portcullisv1.Subject{Id: token.User}, ProjectId: token.ProjectID, DerivedFrom: token.DerivedFrom,
		}
		if token.ExpiresAtMS != nil {
			response.Token.ExpiresAt = timestamppb.New(time.UnixMilli(*token.ExpiresAtMS))
		}
	}
	p.memory.learn(p.questions[learn.Of], p.asked[learn.Of], response)
	answer := answerOf(response, p.questions[learn.Of])
	return map[string]any{"allowed": answer.Allowed, "reason": answer.Reason.String()}
}

func TestConformanceOfDenials(t *testing.T) {
	type line struct {
		Answer *struct {
			Reason, Message string
			Accepted        []AcceptedKind
			RulesDigest     string `json:"rules_digest"`
			Refused         string
		}
		Failure *struct{ Code, Reason string }
		Status  int
		Headers map[string]string
		Body    any
	}
	for _, each := range linesOf[line](t, "denials.jsonl") {
		var denied *denial
		if each.Answer != nil {
			response := &portcullisv1.CheckResponse{
				Reason: portcullisv1.Reason(reasonNamed(t, each.Answer.Reason)), Message: each.Answer.Message, RulesDigest: each.Answer.RulesDigest,
			}
			for _, kind := range each.Answer.Accepted {
				response.Accepted = append(response.Accepted, &portcullisv1.AcceptedKind{Kind: kind.Kind, Header: kind.Header, Scheme: kind.Scheme, Issuable: kind.Issuable, Obtained: kind.Obtained, Link: kind.Link})
			}
			question := &Question{}
			if each.Answer.Refused != "" {
				question.Request, response.Route = &Request{}, &portcullisv1.FoundRoute{Refused: each.Answer.Refused}
			}
			answer := answerOf(response, question)
			denied = denialOf(&answer, false)
		} else {
			denied = failureOf(&Error{Code: codes.Code(code.Code_value[each.Failure.Code]), Reason: each.Failure.Reason})
		}
		sent := httptest.NewRecorder()
		denied.write(sent)
		headers := map[string]string{}
		for name := range sent.Header() {
			headers[strings.ToLower(name)] = sent.Header().Get(name)
		}
		delete(headers, "content-length")
		var body any
		if err := json.Unmarshal(sent.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		if sent.Code != each.Status || !maps.Equal(headers, each.Headers) || !reflect.DeepEqual(body, each.Body) {
			t.Errorf("expected %d %v %v, found %d %v %v", each.Status, each.Headers, each.Body, sent.Code, headers, body)
		}
	}
}

func TestConformanceOfOutages(t *testing.T) {
	type line struct {
		Name  string
		Steps []struct {
			AtMS   int64 `json:"at_ms"`
			Event  string
			Error  string
			Expect *string
		}
	}
	for _, each := range linesOf[line](t, "outages.jsonl") {
		var outage outage
		events := map[string]func(string, int64) string{
			"starts": outage.starts, "fails": outage.fails, "answers": func(_ string, now int64) string { return outage.answers(now) },
		}
		for number, step := range each.Steps {
			expected := ""
			if step.Expect != nil {
				expected = *step.Expect
			}
			if found := events[step.Event](step.Error, step.AtMS*int64(time.Millisecond)); found != expected {
				t.Errorf("%s, step %d: expected %q, found %q", each.Name, number, expected, found)
			}
		}
	}
}

func TestConformanceOfPauses(t *testing.T) {
	type line struct {
		Name  string
		Steps []struct {
			Heard    bool
			Code     string
			ExpectMS int64 `json:"expect_ms"`
		}
	}
	for _, each := range linesOf[line](t, "pauses.jsonl") {
		var pauses pauses
		for number, step := range each.Steps {
			if step.Heard {
				pauses.heard()
			}
			ended := codes.Unknown
			if step.Code != "" {
				ended = codes.Code(code.Code_value[step.Code])
			}
			if found := pauses.after(ended).Milliseconds(); found != step.ExpectMS {
				t.Errorf("%s, step %d: expected %d ms, found %d", each.Name, number, step.ExpectMS, found)
			}
		}
	}
}

func TestConformanceOfNamesMeant(t *testing.T) {
	type line struct {
		Name         string
		Known, Meant []string
	}
	for _, each := range linesOf[line](t, "meant.jsonl") {
		if found := namesMeant(each.Name, each.Known); !slices.Equal(found, each.Meant) {
			t.Errorf("%s among %v: expected %v, found %v", each.Name, each.Known, each.Meant, found)
		}
	}
}

func TestConformanceOfSending(t *testing.T) {
	type line struct {
		Name  string
		Steps []struct {
			AtMs    int64 `json:"at_ms"`
			Refused string
			Sidecar *struct {
				Value, Scheme, Basic string
				ExpiresInMs          *int64 `json:"expires_in_ms"`
			}
			Expect struct{ Asked, Value *string }
		}
	}
	for _, each := range linesOf[line](t, "sending.jsonl") {
		var token profileToken
		for number, step := range each.Steps {
			now := time.UnixMilli(1_790_000_000_000 + step.AtMs)
			token.refuse(step.Refused)
			sent, asked := token.current(now), (*string)(nil)
			if sent == nil {
				rejected := token.rejected
				asked, sent = &rejected, token.lasting(now)
				if step.Sidecar != nil {
					issued := step.Sidecar
					response := &portcullisv1.IssueResponse{Header: "X-Auth-Token", Value: issued.Value, Scheme: issued.Scheme, Basic: issued.Basic}
					if left := step.Sidecar.ExpiresInMs; left != nil {
						response.ExpiresAt = timestamppb.New(now.Add(time.Duration(*left) * time.Millisecond))
					}
					sent = token.came(response, now)
				}
			}
			var value *string
			if sent != nil {
				value = &sent.headerValue
			}
			if !reflect.DeepEqual(asked, step.Expect.Asked) || !reflect.DeepEqual(value, step.Expect.Value) {
				t.Errorf("%s, step %d: found %v and %v", each.Name, number, asked, value)
			}
		}
	}
}

// Two servers, which play a line together.
func TestConformanceOfRedirects(t *testing.T) {
	type answer struct {
		Status   int
		Location string
	}
	type line struct {
		Name, Method, Body string
		Answers            []answer
		Requests           [][]*string
		Least              *int
		From, To           string
		Same               bool
	}
	var lock sync.Mutex
	var answers []answer
	var seen [][]*string
	var placed *strings.Replacer
	serve := func(name string) string {
		server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			content, _ := io.ReadAll(request.Body)
			body, token := string(content), (*string)(nil)
			if values := request.Header.Values("X-Auth-Token"); len(values) > 0 {
				token = &values[0]
			}
			lock.Lock()
			defer lock.Unlock()
			next := answer{Status: http.StatusOK}
			if len(seen) < len(answers) {
				next = answers[len(seen)]
			}
			seen = append(seen, []*string{&name, &request.Method, token, &body})
			if next.Location != "" {
				response.Header().Set("Location", placed.Replace(next.Location))
			}
			response.WriteHeader(next.Status)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	a, b := serve("a"), serve("b")
	_, port, _ := strings.Cut(a, ":")
	placed = strings.NewReplacer("{a}", a, "{b}", b, "{a.port}", port)
	for _, each := range linesOf[line](t, "redirects.jsonl") {
		t.Run(each.Name+each.From, func(t *testing.T) {
			if each.From != "" {
				from, fromErr := url.Parse(each.From)
				to, toErr := url.Parse(each.To)
				if fromErr != nil || toErr != nil || isSameOrigin(from, to) != each.Same {
					t.Errorf("%s: expected %t", each.To, each.Same)
				}
				return
			}
			_, client := sendWith(t, &issuer{})
			answers, seen = each.Answers, nil
			request, err := http.NewRequest(each.Method, "http://"+a+"/start", strings.NewReader(each.Body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			least := len(each.Requests)
			if each.Least != nil {
				least = *each.Least
			}
			found, _ := json.Marshal(seen)
			expected, _ := json.Marshal(each.Requests[:min(len(seen), len(each.Requests))])
			if len(seen) < least || string(found) != string(expected) {
				t.Fatalf("expected %s, found %s", expected, found)
			}
			if err != nil {
				return
			}
			_ = response.Body.Close()
			if last := each.Answers[len(seen)-1].Status; response.StatusCode != last {
				t.Errorf("expected %d, found %d", last, response.StatusCode)
			}
		})
	}
}
