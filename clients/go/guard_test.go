package portcullis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Each request, and its outcome. The tests run them through every guard, with and without local mode, and twice: the second time
// the answer may come from memory.
func rowsOfGuards(t *testing.T) []guardRow {
	fixed, iam, project := shared.secrets["owner"], issueToken(t, "account", ""), issueToken(t, "alpha", "alpha")
	return []guardRow{
		{"no token", nil, account, CredentialMissing},
		{"a longer name", [][2]string{{"X-Auth-Token-2", iam}}, account, CredentialMissing},
		{"two tokens", [][2]string{{"X-Token", fixed}, {"X-Auth-Token", iam}}, account, CredentialAmbiguous},
		{"the header twice", [][2]string{{"X-Auth-Token", iam}, {"X-Auth-Token", iam}}, account, CredentialAmbiguous},
		{"two tokens joined by a comma", [][2]string{{"X-Token", fixed + ", " + fixed}}, account, CredentialAmbiguous},
		{"a blank inside", [][2]string{{"X-Auth-Token", iam + " x"}}, account, CredentialMalformed},
		{"a static token in X-Auth-Token", [][2]string{{"X-Auth-Token", fixed}}, account, WrongHeader},
		{"an IAM token in X-Token", [][2]string{{"X-Token", iam}}, account, WrongHeader},
		{"an unknown token", [][2]string{{"X-Token", "unknown"}}, account, CredentialInvalid},
		{"a forged signature", [][2]string{{"X-Auth-Token", iam[:len(iam)-8] + "AAAAAAAA"}}, account, CredentialInvalid},
		{"a project token", [][2]string{{"X-Auth-Token", project}}, account, TokenKindNotAccepted},
		{"the account of others", [][2]string{{"X-Token", fixed}}, otherAccount, AccountMismatch},
		{"the account of others, by IAM", [][2]string{{"X-Auth-Token", iam}}, otherAccount, AccountMismatch},
		{"a static token", [][2]string{{"X-Token", fixed}}, account, Allowed},
		{"an IAM token", [][2]string{{"x-AUTH-tOKEN", iam}}, account, Allowed},
		{"blanks around a token", [][2]string{{"X-Token", " " + fixed + " "}}, account, Allowed},
		{"other headers", [][2]string{{"Authorization", "Bearer x"}, {"X-Token", fixed}, {"X-Portcullis-Kind", "x"}}, account, Allowed},
	}
}

type guardRow struct {
	name    string
	headers [][2]string
	account string
	reason  Reason
}

func (r guardRow) isKnownToken() bool {
	return r.reason == Allowed || r.reason == AccountMismatch || r.reason == TokenKindNotAccepted
}

func modes(t *testing.T) map[string]*Client {
	local, _ := connectLocal(t, Options{})
	return map[string]*Client{"asked": connect(t, Options{}), "local": local}
}

func TestRequestsOfHTTP(t *testing.T) {
	rows := rowsOfGuards(t)
	for mode, client := range modes(t) {
		mux := http.NewServeMux()
		guard := Guard{Client: client, API: "balance", Target: func(request *http.Request) Scope { return Scope{Account: request.PathValue("account")} }}
		mux.Handle("GET /accounts/{account}/balance", guard.Handler(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			fmt.Fprintf(response, "%s of %s", TokenOf(request.Context()).Kind, TokenOf(request.Context()).Scope.Account)
		})))
		server := httptest.NewServer(mux)
		for _, row := range rows {
			for range 2 {
				t.Run(mode+" "+row.name, func(t *testing.T) {
					request, _ := http.NewRequest(http.MethodGet, server.URL+"/accounts/"+row.account+"/balance", nil)
					for _, header := range row.headers {
						request.Header[header[0]] = append(request.Header[header[0]], header[1])
					}
					response, err := http.DefaultClient.Do(request)
					if err != nil {
						t.Fatal(err)
					}
					expectResponse(t, row, response)
				})
			}
		}
		server.Close()
	}
}

// The same rows, where the routes of the sidecar say the API and the target.
func TestRequestsByTheRoutes(t *testing.T) {
	rows := rowsOfGuards(t)
	for mode, client := range modes(t) {
		server := httptest.NewServer(Guard{Client: client, Routes: true}.Handler(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			route := AnswerOf(request.Context()).Route()
			if route.API != "balance" || *route.Target != (Scope{Account: account}) {
				t.Errorf("found %+v", route)
			}
			fmt.Fprintf(response, "%s of %s", TokenOf(request.Context()).Kind, TokenOf(request.Context()).Scope.Account)
		})))
		for _, row := range rows {
			for range 2 {
				t.Run(mode+" "+row.name, func(t *testing.T) {
					request, _ := http.NewRequest(http.MethodGet, server.URL+"/accounts/"+row.account+"/balance?x=y", nil)
					for _, header := range row.headers {
						request.Header[header[0]] = append(request.Header[header[0]], header[1])
					}
					response, err := http.DefaultClient.Do(request)
					if err != nil {
						t.Fatal(err)
					}
					expectResponse(t, row, response)
				})
			}
		}
		server.Close()
	}
}

func TestRequestsThatTheRoutesRefuse(t *testing.T) {
	for mode, client := range modes(t) {
		server := httptest.NewServer(http.StripPrefix("/accounts", Guard{Client: client, Routes: true}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))))
		defer server.Close()
		for _, row := range []struct{ start, headers, reason string }{
			{"GET /accounts/123456/balance", "", "200"},
			{"HEAD /accounts/123456/balance", "", "NOT_CANONICAL"},
			{"GET /accounts/123456/balance/", "", "NOT_CANONICAL"},
			{"GET /accounts/../accounts/123456/balance", "", "NOT_CANONICAL"},
			{"GET /accounts//123456/balance", "", "NOT_CANONICAL"},
			{"GET /accounts/123456/%62alance", "", "NOT_CANONICAL"},
			{"GET /accounts/123456/BALANCE", "", "NOT_CANONICAL"},
			{"GET /accounts/123456/balance.json", "", "NOT_CANONICAL"},
			{"GET http://else.where/accounts/123456/balance", "", "NOT_CANONICAL"},
			{"GET /accounts/123456/balance", "X-Original-URL: /\r\n", "NOT_CANONICAL"},
			{"GET /accounts/123456/balance", "X-HTTP-Method-Override: DELETE\r\n", "NOT_CANONICAL"},
			{"DELETE /accounts/123456/balance", "", "TOKEN_KIND_NOT_ACCEPTED"},
			{"GET /accounts/1%202/balance", "", "ACCOUNT_MISMATCH"},
		} {
			for range 2 {
				connection, err := net.Dial("tcp", server.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Token: %s\r\n%s\r\n", row.start, shared.secrets["owner"], row.headers)
				response, err := http.ReadResponse(bufio.NewReader(connection), nil)
				if err != nil {
					t.Fatal(err)
				}
				if reason := response.Header.Get("X-Portcullis-Reason"); reason != row.reason && fmt.Sprint(response.StatusCode) != row.reason {
					t.Errorf("%s %s: expected %s, found %d %s", mode, row.start, row.reason, response.StatusCode, reason)
				}
				_ = connection.Close()
			}
		}
	}
}

func TestPlainRequestsAreNotAskedAbout(t *testing.T) {
	client, asked := connectLocal(t, Options{})
	guard := Guard{Client: client, Routes: true}.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ask := func(path string, headers http.Header) int {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		request.Header = headers
		response := httptest.NewRecorder()
		guard.ServeHTTP(response, request)
		return response.Code
	}
	headers := header("X-Token", shared.secrets["owner"])
	headers.Set("X-Account", account)
	for _, path := range []string{"/accounts/123456/balance", "/balance", "/accounts/123456/balance", "/balance?a=b"} {
		if code := ask(path, headers); code != http.StatusOK {
			t.Errorf("%s: found %d", path, code)
		}
	}
	if count := asked.Load(); count != 1 {
		t.Errorf("expected one question, found %d", count)
	}
	for _, path := range []string{"/Balance", "/balance"} {
		before := asked.Load()
		if path == "/balance" {
			headers.Add("X-Account", account)
		}
		if code := ask(path, headers); code != http.StatusForbidden || asked.Load() != before+1 {
			t.Errorf("%s: found %d, and %d questions", path, code, asked.Load()-before)
		}
	}
}

func TestASidecarWithoutRoutes(t *testing.T) {
	process, address, err := serve("--data", filepath.Join(shared.folder, "unrouted"), "--grpc", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop(process) }()
	var reported error
	client := connectTo(t, address, Options{})
	guard := Guard{Client: client, Routes: true, OnFailure: func(err error) { reported = err }}.Handler(http.NotFoundHandler())
	response := httptest.NewRecorder()
	guard.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	var failed *Error
	if response.Code != http.StatusInternalServerError || !errors.As(reported, &failed) || failed.Violations[0].Field != "request" {
		t.Errorf("found %d, %v", response.Code, reported)
	}
}

func TestCallsByTheRoutes(t *testing.T) {
	rows := rowsOfGuards(t)
	for mode, client := range modes(t) {
		served := startCalls(t, CallGuard{Client: client, Routes: true})
		for _, row := range rows {
			for range 2 {
				t.Run(mode+" "+row.name, func(t *testing.T) {
					sent := metadata.Pairs("account", row.account)
					for _, header := range row.headers {
						sent.Append(header[0], strings.TrimSpace(header[1]))
					}
					ctx := metadata.NewOutgoingContext(context.Background(), sent)
					_, err := served.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
					expectCall(t, row, err)
					stream, err := served.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
					if err == nil {
						_, err = stream.Recv()
					}
					expectCall(t, row, err)
				})
			}
		}
		sent := metadata.NewOutgoingContext(context.Background(), metadata.Pairs("account", account, "x-token", shared.secrets["owner"]))
		_, err := served.List(sent, &grpc_health_v1.HealthListRequest{})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "NO_ROUTE") {
			t.Errorf("expected that a method without a route is denied, found %v", err)
		}
	}
	wrong := CallGuard{Client: connect(t, Options{}), Routes: true, APIs: map[string]string{}, OnFailure: func(error) {}}
	if _, err := startCalls(t, wrong).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("found %v", err)
	}
}

func expectResponse(t *testing.T, row guardRow, response *http.Response) {
	t.Helper()
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if row.reason == Allowed {
		if response.StatusCode != http.StatusOK || !strings.HasSuffix(string(body), " of "+account) {
			t.Errorf("found %d %s", response.StatusCode, body)
		}
		return
	}
	status, challenge := http.StatusForbidden, ""
	if !row.isKnownToken() {
		status = http.StatusUnauthorized
		challenge = fmt.Sprintf(`Portcullis header="X-Auth-Token", reason="%[1]s", Portcullis header="X-Token", reason="%[1]s"`, row.reason)
	}
	var found struct {
		Error struct {
			Reason, Message string
			Accepted        []AcceptedKind
		}
	}
	if err := json.Unmarshal(body, &found); err != nil {
		t.Fatal(err)
	}
	header := response.Header.Get
	if response.StatusCode != status || found.Error.Reason != row.reason.String() || found.Error.Message == "" || len(found.Error.Accepted) != 2 ||
		header("WWW-Authenticate") != challenge || header("X-Portcullis-Reason") != row.reason.String() || header("Cache-Control") != "no-store" ||
		!strings.HasPrefix(header("X-Portcullis-Rules-Digest"), "sha256:") || header("Content-Type") != "application/json" {
		t.Errorf("found %d %v %s", response.StatusCode, response.Header, body)
	}
}

func TestTheAnswersOfAGuardWithoutADecision(t *testing.T) {
	absent := connectTo(t, "unix:"+filepath.Join(shared.folder, "absent"), Options{})
	client := connect(t, Options{})
	target := func(account string) func(*http.Request) Scope {
		return func(*http.Request) Scope { return Scope{Account: account} }
	}
	reported := make(chan error, 10)
	rows := []struct {
		name   string
		guard  Guard
		status int
		body   string
	}{
		{"no sidecar", Guard{Client: absent, API: "balance", OnFailure: func(err error) { reported <- err }}, 503,
			`{"error":{"reason":"UNAVAILABLE","message":"the request could not be authorized; try again later"}}`},
		{"no target", Guard{Client: client, API: "balance", Target: target("")}, 403,
			`{"error":{"reason":"TARGET_NOT_FOUND","message":"the request does not say whose resource it asks for"}}`},
		{"a resource of others that is hidden", Guard{Client: client, API: "balance", Target: target(otherAccount), HideOthers: true}, 404,
			`{"error":{"reason":"NOT_FOUND","message":"there is no such resource"}}`},
		{"no API", Guard{Client: client, APIOf: func(*http.Request) string { return "" }}, 403,
			`{"error":{"reason":"UNKNOWN_API","message":"no API is known for this request"}}`},
		{"more headers than a sidecar reads", Guard{Client: client, APIOf: func(request *http.Request) string {
			request.Header["X-Other"] = make([]string, 10_001)
			return "balance"
		}}, 500, `{"error":{"reason":"INTERNAL","message":"the request could not be authorized; the operator finds the cause in the log"}}`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			request := httptest.NewRequest(http.MethodGet, "/", nil)
			request.Header.Set("X-Token", shared.secrets["owner"])
			response := httptest.NewRecorder()
			row.guard.Handler(http.NotFoundHandler()).ServeHTTP(response, request)
			if response.Code != row.status || response.Body.String() != row.body {
				t.Errorf("found %d %s", response.Code, response.Body)
			}
		})
	}
	var failed *Error
	if err := <-reported; !errors.As(err, &failed) {
		t.Errorf("expected the cause, found %v", err)
	}
}

func TestAGuardThatIsMadeWrongPanics(t *testing.T) {
	for name, guard := range map[string]Guard{
		"no client": {API: "balance"}, "no API": {Client: connect(t, Options{})}, "two APIs": {Client: connect(t, Options{}), API: "balance", Routes: true},
		"a target beside the routes": {Client: connect(t, Options{}), Routes: true, Target: func(*http.Request) Scope { return Scope{} }},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: expected a panic", name)
				}
			}()
			guard.Handler(http.NotFoundHandler())
		}()
	}
}

func TestHeadersThatAreNoText(t *testing.T) {
	for mode, client := range modes(t) {
		server := httptest.NewServer(Guard{Client: client, API: "balance"}.Handler(http.NotFoundHandler()))
		for range 2 {
			connection, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: a\r\nX-Other: \xff\xfe\r\nX-Token: a\xff\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			if err != nil || response.Header.Get("X-Portcullis-Reason") != "CREDENTIAL_MALFORMED" {
				t.Errorf("%s: found %+v, %v", mode, response, err)
			}
			_ = connection.Close()
		}
		server.Close()
	}
}

func TestAnAnswerIsReusedForAsLongAsItSays(t *testing.T) {
	client := connect(t, Options{})
	counted := &countedStub{AuthorizationServiceClient: client.stub}
	client.stub = counted
	question := balance(shared.secrets["owner"])
	var reusable bool
	for range 3 {
		answer, err := client.checkCached(context.Background(), &question)
		if err != nil || !answer.Allowed {
			t.Fatal(answer, err)
		}
		reusable = answer.CacheFor() > 0
	}
	if expected := map[bool]int64{true: 1, false: 3}[reusable]; counted.checks.Load() != expected {
		t.Errorf("expected %d questions, found %d", expected, counted.checks.Load())
	}
}

func TestCallsOfGRPC(t *testing.T) {
	rows := rowsOfGuards(t)
	for mode, client := range modes(t) {
		served := startCalls(t, CallGuard{
			Client: client,
			APIs:   map[string]string{"/grpc.health.v1.Health/Check": "balance", "/grpc.health.v1.Health/Watch": "balance"},
			Target: func(ctx context.Context, _ string, _ any) Scope {
				incoming, _ := metadata.FromIncomingContext(ctx)
				return Scope{Account: strings.Join(incoming.Get("account"), "")}
			},
		})
		for _, row := range rows {
			for range 2 {
				t.Run(mode+" "+row.name, func(t *testing.T) {
					sent := metadata.Pairs("account", row.account)
					for _, header := range row.headers {
						sent.Append(header[0], strings.TrimSpace(header[1]))
					}
					ctx := metadata.NewOutgoingContext(context.Background(), sent)
					_, err := served.Check(ctx, &grpc_health_v1.HealthCheckRequest{})
					expectCall(t, row, err)
					stream, err := served.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
					if err == nil {
						_, err = stream.Recv()
					}
					expectCall(t, row, err)
				})
			}
		}
		sent := metadata.NewOutgoingContext(context.Background(), metadata.Pairs("account", account, "x-token", shared.secrets["owner"]))
		_, err := served.List(sent, &grpc_health_v1.HealthListRequest{})
		if status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "UNKNOWN_API") {
			t.Errorf("expected that a method without an API is denied, found %v", err)
		}
	}
}

// A server behind a guard, and a client of it.
func startCalls(t *testing.T, guard CallGuard) grpc_health_v1.HealthClient {
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(guard.Unary, func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			return handle(expectToken(t, ctx), request)
		}),
		grpc.ChainStreamInterceptor(guard.Stream, func(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			expectToken(t, stream.Context())
			return handle(server, stream)
		}),
	)
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	return grpc_health_v1.NewHealthClient(serveCalls(t, server))
}

// Starts a server, and connects to it.
func serveCalls(t *testing.T, server *grpc.Server) *grpc.ClientConn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func expectToken(t *testing.T, ctx context.Context) context.Context {
	if token := TokenOf(ctx); token == nil || token.Scope.Account != account {
		t.Errorf("expected the token, found %+v", token)
	}
	return ctx
}

func expectCall(t *testing.T, row guardRow, err error) {
	t.Helper()
	code := codes.PermissionDenied
	switch {
	case row.reason == Allowed:
		code = codes.OK
	case !row.isKnownToken():
		code = codes.Unauthenticated
	}
	found := status.Convert(err)
	if found.Code() != code {
		t.Fatalf("expected %s, found %v", code, err)
	}
	if code == codes.OK {
		return
	}
	info, isInfo := found.Details()[0].(*errdetails.ErrorInfo)
	if !isInfo || info.GetReason() != row.reason.String() || !strings.HasPrefix(found.Message(), row.reason.String()+": ") {
		t.Errorf("found %v", err)
	}
}

func TestACallWithoutASidecar(t *testing.T) {
	absent := connectTo(t, "unix:"+filepath.Join(shared.folder, "absent"), Options{})
	served := startCalls(t, CallGuard{Client: absent, APIs: map[string]string{"/grpc.health.v1.Health/Check": "balance"}, OnFailure: func(error) {}})
	if _, err := served.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("found %v", err)
	}
}

// The log from now on, line by line.
type logged struct {
	lock sync.Mutex
	text strings.Builder
}

func (l *logged) Write(text []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(text)
}

func (l *logged) lines() []string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

func captureLog(t *testing.T) *logged {
	captured, flags := &logged{}, log.Flags()
	log.SetOutput(captured)
	log.SetFlags(0)
	t.Cleanup(func() {
		log.SetOutput(os.Stderr)
		log.SetFlags(flags)
	})
	return captured
}

func statusOf(guarded http.Handler) int {
	response := httptest.NewRecorder()
	guarded.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	return response.Code
}

func TestAnOutageIsALineAndACount(t *testing.T) {
	captured := captureLog(t)
	socket := filepath.Join(t.TempDir(), "socket")
	client := connectTo(t, "unix:"+socket, Options{})
	guards := []http.Handler{Guard{Client: client, API: "balance"}.Handler(http.NotFoundHandler())}
	eventually(t, "the start is reported", func() bool { return client.outage.isOpen.Load() })
	// Others of the same client have the same outage.
	guards = append(guards, Guard{Client: client, API: "iam"}.Handler(http.NotFoundHandler()), Guard{Client: client, API: "balance"}.Handler(http.NotFoundHandler()))
	for range 2 {
		for _, guarded := range guards {
			if code := statusOf(guarded); code != http.StatusServiceUnavailable {
				t.Errorf("found %d", code)
			}
		}
	}
	fake := &fakeSidecar{}
	fake.listen(t, "unix", socket)
	eventually(t, "a request passes", func() bool {
		// As if the last failure was long ago.
		client.outage.lock.Lock()
		client.outage.quietAt = 0
		client.outage.lock.Unlock()
		return statusOf(guards[0]) == http.StatusNotFound
	})
	lines := captured.lines()
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "portcullis: no sidecar answers at unix:"+socket+" (") ||
		!strings.HasSuffix(lines[0], "); requests are denied until a sidecar answers") ||
		!strings.HasPrefix(lines[1], "portcullis: the sidecar answers again; ") || !strings.HasSuffix(lines[1], " requests could not be checked") {
		t.Errorf("found %q", lines)
	}
}

func TestAGuardSaysOnceThatTheMatrixDoesNotHaveItsAPI(t *testing.T) {
	captured, fake := captureLog(t), &fakeSidecar{apis: []string{"iam", "balance"}}
	client := connectTo(t, fake.listen(t, "tcp", "127.0.0.1:0"), Options{})
	for _, api := range []string{"balanec", "balance", "balanec", "no-such-api"} {
		guarded := Guard{Client: client, API: api}.Handler(http.NotFoundHandler())
		for range 2 {
			statusOf(guarded)
		}
	}
	// The log does not show the API that a request names.
	statusOf(Guard{Client: client, APIOf: func(*http.Request) string { return "blance" }}.Handler(http.NotFoundHandler()))
	served := startCalls(t, CallGuard{Client: client, APIs: map[string]string{"/grpc.health.v1.Health/Check": "BALANCES", "/grpc.health.v1.Health/Watch": "ima"}})
	_, _ = served.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	expected := []string{
		"portcullis: the matrix has no API `BALANCES`, so the requests of its guard are denied; did you mean `balance`?",
		"portcullis: the matrix has no API `balanec`, so the requests of its guard are denied; did you mean `balance`?",
		"portcullis: the matrix has no API `ima`, so the requests of its guard are denied",
		"portcullis: the matrix has no API `no-such-api`, so the requests of its guard are denied",
	}
	eventually(t, "each is reported", func() bool { return len(captured.lines()) >= len(expected) })
	if found := slices.Sorted(slices.Values(captured.lines())); !slices.Equal(found, expected) {
		t.Errorf("found %q", found)
	}
}

func TestAListenerLearnsWhatAGuardFindsAtItsStart(t *testing.T) {
	captured, found := captureLog(t), make(chan error, 10)
	listen := func(err error) { found <- err }
	absent := connectTo(t, "unix:"+filepath.Join(shared.folder, "absent"), Options{})
	guarded := Guard{Client: absent, API: "balance", OnFailure: listen}.Handler(http.NotFoundHandler())
	for range 3 {
		var failed *Error
		if err := <-found; !errors.As(err, &failed) || failed.Code != codes.Unavailable {
			t.Errorf("found %v", err)
		}
		// Each request is reported.
		statusOf(guarded)
	}
	// A sidecar that did not say at the start what its matrix has.
	fake := &fakeSidecar{}
	client := connectTo(t, fake.listen(t, "tcp", "127.0.0.1:0"), Options{})
	guarded = Guard{Client: client, API: "balanec", OnFailure: listen}.Handler(http.NotFoundHandler())
	eventually(t, "it is asked", func() bool { return fake.matrices.Load() == 1 })
	for len(found) > 0 {
		<-found
	}
	fake.apis = []string{"balance"}
	for range 2 {
		statusOf(guarded)
	}
	var unknown *UnknownAPIError
	if err := <-found; !errors.As(err, &unknown) || *unknown != (UnknownAPIError{API: "balanec", Meant: "balance"}) {
		t.Errorf("found %v", err)
	}
	if lines := captured.lines(); len(found) != 0 || len(lines[0]) != 0 {
		t.Errorf("found %d more, and %q", len(found), lines)
	}
}
