package portcullis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// A sidecar that says what a test wants.
type fakeSidecar struct {
	portcullisv1.UnimplementedAuthorizationServiceServer
	// Nil: it is older, and has no such stream.
	watch   func(grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error
	watches atomic.Int64
	checks  atomic.Int64
	// Of each token. Empty: a static token.
	kind string
	// Of the rules by which it decides.
	digest string
	// Nil: checks have an answer.
	silence chan struct{}
	// Of each token. Nil: it says none.
	issuedAt *timestamppb.Timestamp
	// Of its matrix. Nil: it does not say them, and knows every API.
	apis     []string
	matrices atomic.Int64
}

func (f *fakeSidecar) GetMatrix(ctx context.Context, request *portcullisv1.GetMatrixRequest) (*portcullisv1.GetMatrixResponse, error) {
	defer f.matrices.Add(1)
	if f.apis == nil {
		return f.UnimplementedAuthorizationServiceServer.GetMatrix(ctx, request)
	}
	matrix := &portcullisv1.Matrix{}
	for _, each := range f.apis {
		matrix.Apis = append(matrix.Apis, &portcullisv1.Api{Id: each})
	}
	return &portcullisv1.GetMatrixResponse{Matrix: matrix}, nil
}

func (f *fakeSidecar) WatchChanges(request *portcullisv1.WatchChangesRequest, stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
	f.watches.Add(1)
	if f.watch == nil {
		return f.UnimplementedAuthorizationServiceServer.WatchChanges(request, stream)
	}
	return f.watch(stream)
}

func (f *fakeSidecar) Check(_ context.Context, request *portcullisv1.CheckRequest) (*portcullisv1.CheckResponse, error) {
	f.checks.Add(1)
	if f.apis != nil && !slices.Contains(f.apis, request.GetApi()) {
		return &portcullisv1.CheckResponse{Reason: portcullisv1.Reason_REASON_UNKNOWN_API}, nil
	}
	if f.silence != nil {
		<-f.silence
	}
	kind := cmp.Or(f.kind, "static_token")
	token := &portcullisv1.VerifiedToken{
		TokenId: "id", Kind: kind, Scope: &portcullisv1.Scope{Account: account}, Subject: &portcullisv1.Subject{Id: "holder"}, IssuedAt: f.issuedAt,
	}
	return &portcullisv1.CheckResponse{
		Allowed: true, Reason: portcullisv1.Reason_REASON_ALLOWED, Verified: true, Position: &portcullisv1.Position{},
		Token: token, CacheFor: durationpb.New(time.Minute), RulesDigest: f.digest,
	}, nil
}

func startFake(t *testing.T, fake *fakeSidecar, report func(error)) *Client {
	t.Helper()
	return connectTo(t, fake.listen(t, "tcp", "127.0.0.1:0"), Options{Local: true, Report: report})
}

// Starts it, and returns its address.
func (f *fakeSidecar) listen(t *testing.T, network, address string) string {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	portcullisv1.RegisterAuthorizationServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func digestOf(t *testing.T, rules string) string {
	return rulesMessage(t, rules).GetMatrix().GetRulesDigest()
}

func firstResponse(t *testing.T) *portcullisv1.WatchChangesResponse {
	return &portcullisv1.WatchChangesResponse{
		Position: &portcullisv1.Position{}, Rules: rulesMessage(t, "shipped"), Voided: &portcullisv1.Voided{Everything: true},
		ValidFor: durationpb.New(time.Minute), SentAt: durationpb.New(time.Second),
	}
}

func TestAnOlderSidecarIsAskedEachTime(t *testing.T) {
	reported := make(chan error, 10)
	fake := &fakeSidecar{}
	client := startFake(t, fake, func(err error) { reported <- err })
	var failed *Error
	if err := <-reported; !errors.As(err, &failed) || failed.Code != codes.Unimplemented {
		t.Errorf("found %v", err)
	}
	for range 3 {
		check(t, client, balance("x"))
	}
	if fake.checks.Load() != 3 || fake.watches.Load() != 1 {
		t.Errorf("found %d checks and %d streams", fake.checks.Load(), fake.watches.Load())
	}
}

func TestATokenBehindASchemeIsKnown(t *testing.T) {
	fake := &fakeSidecar{kind: "kiosk_key", digest: digestOf(t, "library")}
	fake.watch = func(stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
		first := firstResponse(t)
		first.Rules = rulesMessage(t, "library")
		if fake.watches.Load() > 1 {
			first.Voided = nil
		}
		_ = stream.Send(first)
		<-stream.Context().Done()
		return nil
	}
	client := startFake(t, fake, func(error) {})
	question := func(value string) Question { return Question{API: "printers", HTTP: header("Authorization", value)} }
	eventually(t, "the token is known", func() bool {
		before := fake.checks.Load()
		return check(t, client, question("Kiosk key")).Allowed && fake.checks.Load() == before
	})
	headers, ctx := header("Authorization", "kiosk  key"), context.Background()
	if allocations := testing.AllocsPerRun(1000, func() {
		answer, err := client.Check(ctx, &Question{API: "printers", HTTP: headers})
		if err != nil || answer.Response() != nil || answer.Header() != "Authorization" || answer.Scheme() != "Kiosk" {
			t.Errorf("found %+v, %v", answer, err)
		}
	}); allocations != 0 {
		t.Errorf("expected no allocation, found %v", allocations)
	}
	for _, value := range []string{"Bearer key", "key", "Kiosk"} {
		if answer, isKnown := client.CheckLocally(new(question(value))); isKnown {
			t.Errorf("%s: found %+v", value, answer)
		}
	}
	guarded := Guard{Client: client, API: "printers"}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		if answer := AnswerOf(request.Context()); answer.Response() != nil || answer.Scheme() != "Kiosk" {
			t.Errorf("found %+v", answer)
		}
	}))
	request, sent := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
	request.RemoteAddr, request.Header = "", headers
	if guarded.ServeHTTP(sent, request); sent.Code != http.StatusOK {
		t.Errorf("found %d %s", sent.Code, sent.Body)
	}
}

func TestAStreamThatIsSilentIsLeft(t *testing.T) {
	fake := &fakeSidecar{watch: func(stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
		_ = stream.Send(firstResponse(t))
		<-stream.Context().Done()
		return nil
	}}
	startFake(t, fake, func(err error) { t.Error(err) })
	eventually(t, "the client asks for another stream", func() bool { return fake.watches.Load() > 1 })
}

func TestASidecarThatSaysWhatCannotBeIsLeft(t *testing.T) {
	reported := make(chan error, 10)
	isWrong := atomic.Bool{}
	fake := &fakeSidecar{digest: digestOf(t, "shipped"), watch: func(stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
		first := firstResponse(t)
		_ = stream.Send(first)
		for !isWrong.Load() {
			time.Sleep(time.Millisecond)
		}
		_ = stream.Send(&portcullisv1.WatchChangesResponse{Position: first.Position, ValidFor: first.ValidFor, SentAt: durationpb.New(0)})
		<-stream.Context().Done()
		return nil
	}}
	client := startFake(t, fake, func(err error) { reported <- err })
	known := func() bool {
		before := fake.checks.Load()
		answer := check(t, client, balance("x"))
		return answer.Allowed && answer.CacheFor() == 0 && fake.checks.Load() == before
	}
	eventually(t, "the token is known", known)
	isWrong.Store(true)
	if err := <-reported; !errors.Is(err, errStream) {
		t.Errorf("found %v", err)
	}
	eventually(t, "the client asks for another stream", func() bool { return fake.watches.Load() > 1 })
}

func TestRulesWithACellMissingAreRefused(t *testing.T) {
	for name, damage := range map[string]func(*portcullisv1.Rules){
		"no rows":                    func(rules *portcullisv1.Rules) { rules.Apis = nil },
		"no row for unknown APIs":    func(rules *portcullisv1.Rules) { rules.Apis = rules.Apis[1:] },
		"a kind that a row lacks":    func(rules *portcullisv1.Rules) { rules.Apis[3].Cells = rules.Apis[3].Cells[1:] },
		"a cell that does not exist": func(rules *portcullisv1.Rules) { rules.Apis[3].Cells[0] = uint32(len(rules.Cells)) },
		"a reason that is missing":   func(rules *portcullisv1.Rules) { rules.Cells[0].Reasons = rules.Cells[0].Reasons[1:] },
	} {
		message := rulesMessage(t, "shipped")
		damage(message)
		if _, err := rulesOf(message); !errors.Is(err, errRules) {
			t.Errorf("%s: found %v", name, err)
		}
	}
}

func TestAMatrixOf100000APIs(t *testing.T) {
	message := rulesMessage(t, "shipped")
	for index := range 100_000 {
		row := proto.Clone(message.Apis[1+index%30]).(*portcullisv1.ApiCells)
		row.Api = fmt.Sprint("api-", index)
		message.Apis = append(message.Apis, row)
	}
	rules, err := rulesOf(message)
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range message.Apis {
		if found := rules.row(each.Api); found.api != each.Api || found.rules != rules {
			t.Fatalf("expected the row of %s", each.Api)
		}
	}
	if rules.row("api-100000") != rules.unknown {
		t.Error("expected the row of APIs that are not in the matrix")
	}
}

// A stream that gets one notification, and goes on.
func following(t *testing.T) func(grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
	return func(stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
		_ = stream.Send(firstResponse(t))
		<-stream.Context().Done()
		return nil
	}
}

func TestOneWhoWaitsForTheQuestionOfAnotherHasADeadline(t *testing.T) {
	fake := &fakeSidecar{watch: following(t), digest: digestOf(t, "shipped"), silence: make(chan struct{})}
	client := startFake(t, fake, func(error) {})
	t.Cleanup(func() { close(fake.silence) })
	client.deadline = time.Hour
	hasty := &Client{address: client.address, deadline: 100 * time.Millisecond, connection: client.connection, stub: client.stub, local: client.local}
	eventually(t, "the client follows", func() bool { return client.local.memory.view.Load().rules != nil })
	question := &Question{API: "balance", Headers: []Header{{"X-Token", "x"}}}
	go func() { _, _ = client.Check(t.Context(), question) }()
	eventually(t, "it is asked", func() bool { return fake.checks.Load() > 0 })
	_, err := hasty.Check(t.Context(), question)
	if failed := (*Error)(nil); !errors.As(err, &failed) || failed.Code != codes.DeadlineExceeded {
		t.Errorf("expected DEADLINE_EXCEEDED, found %v", err)
	}
	if asked := fake.checks.Load(); asked != 1 {
		t.Errorf("expected one question, found %d", asked)
	}
}

func TestATimeThatIsNoneIsAnError(t *testing.T) {
	fake := &fakeSidecar{watch: following(t), digest: digestOf(t, "shipped"), issuedAt: &timestamppb.Timestamp{Seconds: 1 << 60}}
	client := startFake(t, fake, func(error) {})
	for range 2 {
		_, err := client.Check(t.Context(), &Question{API: "balance", Headers: []Header{{"X-Token", "x"}}})
		if failed := (*Error)(nil); !errors.As(err, &failed) || failed.Code != codes.Internal {
			t.Errorf("expected INTERNAL, found %v", err)
		}
	}
}

func TestAReportThatPanicsEndsNothing(t *testing.T) {
	isReported := make(chan struct{})
	fake := &fakeSidecar{}
	fake.watch = func(stream grpc.ServerStreamingServer[portcullisv1.WatchChangesResponse]) error {
		if fake.watches.Load() == 1 {
			return stream.Send(&portcullisv1.WatchChangesResponse{})
		}
		return following(t)(stream)
	}
	client := startFake(t, fake, func(error) { close(isReported); panic("a report") })
	<-isReported
	eventually(t, "the client follows", func() bool { return client.local.memory.view.Load().rules != nil })
}
