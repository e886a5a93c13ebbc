// Package peers compares a local check with libraries of Go that decide in the calling process, on the same 90 questions: every API and
// every kind of token of the shipped matrix. It is a module of its own, so that the client does not depend on them.
//
//	cd clients/go/peers && go test -v -run Figures .
package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/cedar-policy/cedar-go"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"portcullis.example/portcullis"
	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// A cell of the matrix, and whether it allows.
type question struct {
	api, kind, level string
	isAllowed        bool
}

func questionsOf(rules *portcullisv1.Rules) (questions []question) {
	for _, row := range rules.GetApis() {
		if row.GetApi() == "" {
			continue
		}
		for index, kind := range rules.GetMatrix().GetTokenKinds() {
			situation := map[string]int{"account": 4, "project": 8}[kind.GetScopeLevel()]
			reason := rules.GetCells()[row.GetCells()[index+1]].GetReasons()[situation]
			questions = append(questions, question{row.GetApi(), kind.GetId(), kind.GetScopeLevel(), reason == portcullisv1.Reason_REASON_ALLOWED})
		}
	}
	return questions
}

func shippedRules(t testing.TB) *portcullisv1.Rules {
	t.Helper()
	encoded, err := os.ReadFile("../../conformance/rules/shipped.binpb")
	if err != nil {
		t.Fatal(err)
	}
	rules := &portcullisv1.Rules{}
	if err := proto.Unmarshal(encoded, rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

// Tells the rules to a client, and says why it denies.
type sidecar struct {
	portcullisv1.UnimplementedAuthorizationServiceServer
	rules *portcullisv1.Rules
}

func (s sidecar) WatchChanges(_ *portcullisv1.WatchChangesRequest, stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
	began := time.Now()
	response := &portcullisv1.WatchChangesResponse{Rules: s.rules, Voided: &portcullisv1.Voided{Everything: true}}
	for {
		response.Position, response.ValidFor, response.SentAt = &portcullisv1.Position{}, durationpb.New(time.Minute), durationpb.New(time.Since(began))
		if err := stream.Send(response); err != nil {
			return err
		}
		response = &portcullisv1.WatchChangesResponse{}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (s sidecar) Check(_ context.Context, request *portcullisv1.CheckRequest) (*portcullisv1.CheckResponse, error) {
	response := &portcullisv1.CheckResponse{RulesDigest: s.rules.GetMatrix().GetRulesDigest(), Message: "denied"}
	for _, each := range questionsOf(s.rules) {
		if each.api == request.GetApi() && each.kind == request.GetToken().GetKind() {
			response.Allowed, response.Reason = each.isAllowed, portcullisv1.Reason_REASON_TOKEN_KIND_NOT_ACCEPTED
			if each.isAllowed {
				response.Reason = portcullisv1.Reason_REASON_ALLOWED
			}
		}
	}
	return response, nil
}

// A library: what it needs, and how it answers.
type decide func(testing.TB, question) bool

func local(t testing.TB, rules *portcullisv1.Rules, questions []question) decide {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	portcullisv1.RegisterAuthorizationServiceServer(server, sidecar{rules: rules})
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := portcullis.Connect(listener.Addr().String(), portcullis.Options{Local: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ctx, target := context.Background(), &portcullis.Scope{Account: "1", Project: "p"}
	scopes := map[string]portcullis.Scope{"account": {Account: "1"}, "project": {Account: "1", Project: "p"}}
	claims := map[string]*portcullis.Claims{}
	for _, each := range questions {
		claims[each.kind] = &portcullis.Claims{Kind: each.kind, Scope: scopes[each.level]}
	}
	ask := func(t testing.TB, each question) portcullis.Answer {
		answer, err := client.Check(ctx, &portcullis.Question{API: each.api, Claims: claims[each.kind], Target: target})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	// What is said about each denial is asked for once, as soon as the client follows.
	for index := 0; index < len(questions); {
		answer := ask(t, questions[index])
		if answer.Response() == nil {
			index++
		}
	}
	return func(t testing.TB, each question) bool { answer := ask(t, each); return answer.Allowed }
}

const casbinModel = `
[request_definition]
r = sub, obj
[policy_definition]
p = sub, obj
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj
`

type enforcer interface {
	AddPolicies([][]string) (bool, error)
	Enforce(...any) (bool, error)
}

func withCasbin(t testing.TB, questions []question, enforcer enforcer, err error) decide {
	if err != nil {
		t.Fatal(err)
	}
	var policies [][]string
	for _, each := range questions {
		if each.isAllowed {
			policies = append(policies, []string{each.kind, each.api})
		}
	}
	if _, err := enforcer.AddPolicies(policies); err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, each question) bool {
		isAllowed, err := enforcer.Enforce(each.kind, each.api)
		if err != nil {
			t.Fatal(err)
		}
		return isAllowed
	}
}

func casbinModelOf(t testing.TB) model.Model {
	made, err := model.NewModelFromString(casbinModel)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func withOPA(t testing.TB, questions []question) decide {
	apis := map[string]any{}
	for _, each := range questions {
		if each.isAllowed {
			kinds, _ := apis[each.api].(map[string]any)
			if kinds == nil {
				kinds = map[string]any{}
				apis[each.api] = kinds
			}
			kinds[each.kind] = true
		}
	}
	prepared, err := rego.New(
		rego.Query("data.portcullis.allow"),
		rego.Module("portcullis.rego", "package portcullis\ndefault allow := false\nallow if data.accepts[input.api][input.kind]\n"),
		rego.Store(inmem.NewFromObjectWithOpts(map[string]any{"accepts": apis}, inmem.OptReturnASTValuesOnRead(true))),
	).PrepareForEval(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return func(t testing.TB, each question) bool {
		results, err := prepared.Eval(context.Background(), rego.EvalInput(map[string]any{"api": each.api, "kind": each.kind}))
		if err != nil {
			t.Fatal(err)
		}
		return results.Allowed()
	}
}

func withCedar(t testing.TB, questions []question) decide {
	// One policy for each kind takes less time than one for each cell.
	apis := map[string][]string{}
	for _, each := range questions {
		if each.isAllowed {
			apis[each.kind] = append(apis[each.kind], `Api::"`+each.api+`"`)
		}
	}
	var text strings.Builder
	for kind, all := range apis {
		fmt.Fprintf(&text, `permit (principal == Kind::"%s", action == Action::"open", resource) when { [%s].contains(resource) };`, kind, strings.Join(all, ", "))
	}
	policies, err := cedar.NewPolicySetFromBytes("portcullis.cedar", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	entities, action := cedar.EntityMap{}, cedar.NewEntityUID("Action", "open")
	return func(_ testing.TB, each question) bool {
		decision, _ := cedar.Authorize(policies, entities, cedar.Request{
			Principal: cedar.NewEntityUID("Kind", cedar.String(each.kind)), Action: action,
			Resource: cedar.NewEntityUID("Api", cedar.String(each.api)), Context: cedar.NewRecord(nil),
		})
		return decision == cedar.Allow
	}
}

func contenders(t testing.TB, questions []question) map[string]decide {
	plain, err := casbin.NewEnforcer(casbinModelOf(t))
	casbinPlain := withCasbin(t, questions, plain, err)
	cached, err := casbin.NewCachedEnforcer(casbinModelOf(t))
	return map[string]decide{
		"client":        local(t, shippedRules(t), questions),
		"casbin":        casbinPlain,
		"casbin_cached": withCasbin(t, questions, cached, err),
		"opa":           withOPA(t, questions),
		"cedar":         withCedar(t, questions),
	}
}

func TestAllAnswerAlike(t *testing.T) {
	questions := questionsOf(shippedRules(t))
	if len(questions) != 90 {
		t.Fatalf("expected 90 questions, found %d", len(questions))
	}
	for name, decide := range contenders(t, questions) {
		for _, each := range questions {
			if decide(t, each) != each.isAllowed {
				t.Errorf("%s: %+v", name, each)
			}
		}
	}
}

// Prints one line of JSON: the nanoseconds of each. SECONDS says how long each is measured.
func TestFigures(t *testing.T) {
	questions, seconds := questionsOf(shippedRules(t)), 1.0
	if text := os.Getenv("SECONDS"); text != "" {
		if _, err := fmt.Sscan(text, &seconds); err != nil {
			t.Fatal(err)
		}
	}
	all := contenders(t, questions)
	times := map[string][]float64{}
	end := time.Now().Add(time.Duration(seconds * float64(len(all)) * float64(time.Second)))
	// They take turns: whatever the machine does besides, it slows all of them.
	for len(times) == 0 || time.Now().Before(end) {
		for name, decide := range all {
			began := time.Now()
			for _, each := range questions {
				decide(t, each)
			}
			times[name] = append(times[name], float64(time.Since(began))/float64(len(questions)))
		}
	}
	figures := map[string]float64{}
	for name, taken := range times {
		slices.Sort(taken)
		figures[name+"_ns"] = taken[len(taken)/2]
	}
	encoded, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(encoded))
}
