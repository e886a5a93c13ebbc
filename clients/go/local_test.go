package portcullis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestAKnownTokenIsAnsweredFromMemory(t *testing.T) {
	client, asked := connectLocal(t, Options{})
	direct := connect(t, Options{})
	questions := []Question{
		balance(shared.secrets["owner"]),
		{API: "balance", Metadata: map[string][]string{"x-token": {shared.secrets["owner"]}}, ClientAddress: "192.0.2.1"},
		{API: "balance", Headers: []Header{{"X-TOKEN", shared.secrets["owner"] + " "}}, ClientAddress: "192.0.2.1"},
		{API: "reports", HTTP: header("X-Token", shared.secrets["owner"]), Target: &Scope{Account: otherAccount}, ClientAddress: "192.0.2.1"},
		{API: "secrets", HTTP: header("X-Token", shared.secrets["owner"]), ClientAddress: "192.0.2.1"},
		{API: "no-such-api", HTTP: header("X-Token", shared.secrets["owner"]), ClientAddress: "192.0.2.1"},
		{API: "balance", HTTP: header("X-Other", "x")},
		{API: "balance", HTTP: map[string][]string{"X-Token": {"a", "b"}}},
		{API: "balance", Claims: &Claims{Kind: "static_token", Scope: Scope{Account: account}}, Target: &Scope{Account: account, Project: "alpha"}},
		{API: "balance", Claims: &Claims{Kind: "no-such-kind", Scope: Scope{Account: account}}},
	}
	for index, question := range questions {
		expected := check(t, direct, question)
		if _, isKnown := direct.CheckLocally(&question); isKnown {
			t.Errorf("%d: expected a client without local mode not to remember anything", index)
		}
		check(t, client, question)
		before := asked.Load()
		found := check(t, client, question)
		if asked.Load() != before || found.Response() != nil {
			t.Errorf("%d: expected an answer from memory", index)
		}
		if recalled, isKnown := client.CheckLocally(&question); !isKnown || recalled != found {
			t.Errorf("%d: expected the same answer at once, found %+v", index, recalled)
		}
		expectSame(t, fmt.Sprint(index), &found, &expected)
	}
}

func expectSame(t *testing.T, what string, found, expected *Answer) {
	t.Helper()
	type seen struct {
		Allowed, Verified                    bool
		Reason                               Reason
		Message, Header, RulesDigest, Holder string
	}
	seenOf := func(answer *Answer) seen {
		holder := ""
		if token := answer.Token(); token != nil {
			holder = fmt.Sprintf("%+v", *token)
		}
		return seen{answer.Allowed, answer.Verified(), answer.Reason, answer.Message(), answer.Header(), answer.RulesDigest(), holder}
	}
	if seenOf(found) != seenOf(expected) || !slices.Equal(found.Accepted(), expected.Accepted()) {
		t.Errorf("%s: expected %+v %v, found %+v %v", what, seenOf(expected), expected.Accepted(), seenOf(found), found.Accepted())
	}
}

func TestARevokedTokenIsDeniedWhileAProgramDecidesLocally(t *testing.T) {
	client, asked := connectLocal(t, Options{})
	value, _ := createToken(t, "to-be-revoked")
	question := balance(value)
	eventually(t, "the token is known", func() bool {
		before := asked.Load()
		return check(t, client, question).Allowed && asked.Load() == before
	})
	revoke(t, value)
	eventually(t, "the token is denied", func() bool { return !check(t, client, question).Allowed })
	if answer := check(t, client, question); answer.Reason != CredentialRevoked || answer.Response() != nil {
		t.Errorf("expected that the denial is known, found %+v", answer)
	}
}

func TestATokenIsAskedAboutOnceByAllWhoUseIt(t *testing.T) {
	client, asked := connectLocal(t, Options{})
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed {
				t.Errorf("found %+v", answer)
			}
		})
	}
	all.Wait()
	if asked.Load() != 1 {
		t.Errorf("expected 1 question, found %d", asked.Load())
	}
}

func TestACallerWhoLeavesDoesNotTakeTheAnswerAlong(t *testing.T) {
	client, _ := connectLocal(t, Options{})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client.Check(ended, new(balance(shared.secrets["owner"]))); !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
	if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed {
		t.Errorf("found %+v", answer)
	}
}

func TestTenThousandTokens(t *testing.T) {
	client, asked := connectLocal(t, Options{TokensMax: manyTokens})
	askAll := func() {
		var all sync.WaitGroup
		for part := range slices.Chunk(shared.many, len(shared.many)/8) {
			all.Go(func() {
				for _, value := range part {
					if answer := check(t, client, balance(value)); !answer.Allowed {
						t.Errorf("found %+v", answer)
					}
				}
			})
		}
		all.Wait()
	}
	askAll()
	before := asked.Load()
	askAll()
	if before != manyTokens || asked.Load() != before {
		t.Errorf("expected %d questions, found %d and %d more", manyTokens, before, asked.Load()-before)
	}
	check(t, client, balance(shared.secrets["owner"]))
	if table := client.local.memory.tokens; table.pairs != manyTokens || table.count != manyTokens {
		t.Errorf("expected %d tokens, found %d", manyTokens, table.count)
	}
}

func TestTokensOfOtherAccountsAreAskedAbout(t *testing.T) {
	client, asked := connectLocal(t, Options{Accounts: []string{otherAccount}})
	for range 2 {
		check(t, client, balance(shared.secrets["owner"]))
		check(t, client, balance(shared.secrets["stranger"]))
	}
	if asked.Load() != 3 {
		t.Errorf("expected 3 questions, found %d", asked.Load())
	}
}

func TestWithoutTheRightToFollowEachCheckIsAsked(t *testing.T) {
	reported := make(chan error, 10)
	client := connect(t, Options{Local: true, CallerToken: "stranger-caller-token-0123456789abcdef", Report: func(err error) { reported <- err }})
	var failed *Error
	if err := <-reported; !errors.As(err, &failed) || failed.Reason != "CALLER_RIGHT_MISSING" {
		t.Errorf("found %v", err)
	}
	for range 2 {
		if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed || answer.Response() == nil {
			t.Errorf("found %+v", answer)
		}
	}
	if len(reported) > 0 {
		t.Error("expected one report")
	}
}

// The sidecar is killed, so this is the last test that needs it; it starts it again for what runs afterwards.
func TestASidecarThatIsKilledAndComesBack(t *testing.T) {
	client, asked := connectLocal(t, Options{})
	question := balance(shared.secrets["owner"])
	check(t, client, question)
	_ = shared.process.Process.Kill()
	_ = shared.process.Wait()
	var failed *Error
	eventually(t, "there is no answer", func() bool {
		_, err := client.Check(context.Background(), &question)
		return errors.As(err, &failed)
	})
	value, err := client.Check(context.Background(), &question)
	if err == nil || value.Allowed {
		t.Errorf("found %+v", value)
	}
	shared.process, shared.address, err = serve("--config", "portcullis.yaml", "--data", "data", "--grpc", shared.address)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the token is known again", func() bool {
		before := asked.Load()
		answer, err := client.Check(context.Background(), &question)
		return err == nil && answer.Allowed && asked.Load() == before
	})
}

func TestACheckOfAKnownTokenAllocatesNothing(t *testing.T) {
	client, _ := connectLocal(t, Options{})
	headers := header("X-Token", shared.secrets["owner"])
	ctx, target := context.Background(), Scope{Account: account}
	ask := func() {
		answer, err := client.Check(ctx, &Question{API: "balance", HTTP: headers, Target: &target, ClientAddress: "192.0.2.1"})
		if err != nil || !answer.Allowed {
			t.Errorf("found %+v, %v", answer, err)
		}
	}
	ask()
	if allocations := testing.AllocsPerRun(1000, ask); allocations != 0 {
		t.Errorf("expected no allocation, found %v", allocations)
	}
}

// Asks random questions of a client in local mode, and of the sidecar. QUESTIONS says how many: 1,000,000 in the nightly size.
func TestLocalAnswersAreThoseOfTheSidecar(t *testing.T) {
	count := 10_000
	if text := os.Getenv("QUESTIONS"); text != "" {
		if _, err := fmt.Sscan(text, &count); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	client, asked := connectLocal(t, Options{})
	direct := connect(t, Options{})
	questions := randomQuestions(t, random, client.local.memory.view.Load().rules)
	for done := 0; done < count; {
		batch := make([]Question, min(500, count-done))
		for index := range batch {
			batch[index] = questions()
		}
		done += len(batch)
		expected, err := direct.CheckBatch(context.Background(), batch)
		if err != nil {
			t.Fatal(err)
		}
		for index := range batch {
			found := check(t, client, batch[index])
			if found.Response() == nil {
				expectSame(t, fmt.Sprintf("%+v", batch[index]), &found, &expected[index])
			} else if found.Allowed != expected[index].Allowed {
				t.Errorf("%+v: expected %t", batch[index], expected[index].Allowed)
			}
		}
	}
	if count > 5_000 && asked.Load() > int64(count)/2 {
		t.Errorf("expected that most answers come from memory, found %d questions of %d", asked.Load(), count)
	}
}

func randomQuestions(t *testing.T, random *rand.Rand, rules *rules) func() Question {
	tokens := []string{
		shared.secrets["owner"], shared.secrets["stranger"], issueToken(t, "account", ""), issueToken(t, "alpha", "alpha"), shared.many[0], "unknown", "", "a b", "a,b",
	}
	apis := []string{"no-such-api"}
	for api := range rules.rows {
		if api != "" {
			apis = append(apis, api)
		}
	}
	slices.Sort(apis)
	names := []string{"X-Token", "x-auth-token", "X-AUTH-TOKEN", "x-token", "X-Other"}
	kinds := []string{"static_token", "iam_token_account_scoped", "iam_token_project_scoped", "no-such-kind", ""}
	projects := []string{"", "", "alpha", "beta"}
	accounts := []string{account, account, account, otherAccount}
	scope := func() Scope { return Scope{one(random, accounts), one(random, projects)} }
	return func() Question {
		question := Question{API: one(random, apis), ClientAddress: one(random, []string{"", "192.0.2.1", "2001:db8::1"})}
		if random.IntN(4) > 0 {
			target := scope()
			question.Target = &target
		}
		if random.IntN(5) == 0 {
			question.Claims = &Claims{Kind: one(random, kinds), Scope: scope()}
			return question
		}
		question.Headers = []Header{}
		for range 1 + random.IntN(5)/4 {
			question.Headers = append(question.Headers, Header{one(random, names), one(random, tokens)})
		}
		return question
	}
}

func one(random *rand.Rand, from []string) string { return from[random.IntN(len(from))] }

func TestAClientThatWasClosedAnswersNothing(t *testing.T) {
	local, _ := connectLocal(t, Options{})
	question := balance(shared.secrets["owner"])
	eventually(t, "the token is known", func() bool {
		check(t, local, question)
		_, isKnown := local.CheckLocally(&question)
		return isKnown
	})
	for _, client := range []*Client{local, connect(t, Options{})} {
		_ = client.Close()
		var failed *Error
		if _, err := client.Check(t.Context(), &question); !errors.As(err, &failed) || failed.Code != codes.Canceled {
			t.Errorf("found %v", err)
		}
		if _, isKnown := client.CheckLocally(&question); isKnown {
			t.Error("a client that was closed answers from memory")
		}
	}
}

func TestAClientThatIsDroppedLeavesNoGoroutine(t *testing.T) {
	client, err := Connect(shared.address, Options{CallerToken: callerToken, Local: true})
	if err != nil {
		t.Fatal(err)
	}
	done := client.local.done
	client = nil
	eventually(t, "what follows has ended", func() bool {
		runtime.GC()
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}
