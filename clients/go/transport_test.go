package portcullis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Issues tokens "token-1", "token-2" and so on.
type issuer struct {
	portcullisv1.AuthorizationServiceClient
	lock     sync.Mutex
	requests []*portcullisv1.IssueRequest
	lifetime time.Duration
	// Empty: tokens belong in X-Auth-Token alone.
	scheme string
	// Nil: it answers at once.
	release chan struct{}
	failing atomic.Bool
}

func (i *issuer) Issue(_ context.Context, request *portcullisv1.IssueRequest, _ ...grpc.CallOption) (*portcullisv1.IssueResponse, error) {
	i.lock.Lock()
	i.requests = append(i.requests, request)
	count := len(i.requests)
	i.lock.Unlock()
	if i.release != nil {
		<-i.release
	}
	if i.failing.Load() {
		return nil, errors.New("no sidecar")
	}
	response := &portcullisv1.IssueResponse{Header: "X-Auth-Token", Value: fmt.Sprint("token-", count)}
	if i.scheme != "" {
		response.Header, response.Scheme = "Authorization", i.scheme
	}
	if i.lifetime != 0 {
		response.ExpiresAt = timestamppb.New(time.Now().Add(i.lifetime))
	}
	return response, nil
}

func (i *issuer) count() int {
	i.lock.Lock()
	defer i.lock.Unlock()
	return len(i.requests)
}

// A client whose sidecar is an issuer, and a client that sends with its tokens.
func sendWith(t *testing.T, issuer *issuer) (*Transport, *http.Client) {
	client := connectTo(t, "unix:/absent", Options{})
	client.stub = issuer
	transport := &Transport{Client: client, Profile: "job", APIs: []string{"balance"}}
	return transport, &http.Client{Transport: transport}
}

// An API that refuses these tokens, and notes what it got.
func startAPI(t *testing.T, refused ...string) (server *httptest.Server, got func() []string) {
	var lock sync.Mutex
	var seen []string
	server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		token := request.Header.Get("X-Auth-Token")
		lock.Lock()
		seen = append(seen, strings.TrimSpace(token+" "+string(body)))
		lock.Unlock()
		for _, each := range refused {
			if token == each {
				response.WriteHeader(http.StatusUnauthorized)
			}
		}
	}))
	t.Cleanup(server.Close)
	return server, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return append([]string{}, seen...)
	}
}

func expectSeen(t *testing.T, got func() []string, expected ...string) {
	t.Helper()
	if found := got(); fmt.Sprint(found) != fmt.Sprint(expected) {
		t.Errorf("expected %q, found %q", expected, found)
	}
}

func post(t *testing.T, client *http.Client, url string, body io.Reader) int {
	t.Helper()
	response, err := client.Post(url, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestATokenIsKeptAndRenewedOnceAfter401(t *testing.T) {
	issuer := &issuer{}
	_, client := sendWith(t, issuer)
	server, got := startAPI(t, "token-1")
	for range 2 {
		if status := post(t, client, server.URL, strings.NewReader("body")); status != http.StatusOK {
			t.Errorf("found %d", status)
		}
	}
	expectSeen(t, got, "token-1 body", "token-2 body", "token-2 body")
	if len(issuer.requests) != 2 || issuer.requests[0].GetRejectedValue() != "" || issuer.requests[1].GetRejectedValue() != "token-1" ||
		issuer.requests[1].GetProfile() != "job" || issuer.requests[1].GetApis().GetApis()[0] != "balance" {
		t.Errorf("found %v", issuer.requests)
	}
}

func TestATokenIsSentBehindItsScheme(t *testing.T) {
	issuer := &issuer{scheme: "Bearer"}
	transport, client := sendWith(t, issuer)
	transport.Place = "Authorization: Bearer"
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		got = append(got, request.Header.Values("Authorization")...)
		if len(got) == 1 {
			response.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	request, err := http.NewRequest(http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Basic of-the-program")
	response, err := client.Do(request)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	expectSeen(t, func() []string { return got }, "Bearer token-1", "Bearer token-2")
	if asked := issuer.requests[1]; asked.GetRejectedValue() != "token-1" || asked.GetPlace() != "Authorization: Bearer" {
		t.Errorf("found %v", asked)
	}
}

func TestAnAPIThatRefusesEveryTokenIsAskedTwice(t *testing.T) {
	issuer := &issuer{}
	_, client := sendWith(t, issuer)
	server, got := startAPI(t, "token-1", "token-2")
	if status := post(t, client, server.URL, nil); status != http.StatusUnauthorized {
		t.Errorf("found %d", status)
	}
	expectSeen(t, got, "token-1", "token-2")
}

func TestABodyThatCannotBeSentAgainIsSentOnce(t *testing.T) {
	issuer := &issuer{}
	_, client := sendWith(t, issuer)
	server, got := startAPI(t, "token-1")
	stream := func() io.Reader { return io.MultiReader(strings.NewReader("stream")) }
	if status := post(t, client, server.URL, stream()); status != http.StatusUnauthorized {
		t.Errorf("found %d", status)
	}
	if status := post(t, client, server.URL, stream()); status != http.StatusOK {
		t.Errorf("found %d", status)
	}
	expectSeen(t, got, "token-1 stream", "token-2 stream")
}

func TestAllWhoNeedATokenWaitForTheSame(t *testing.T) {
	issuer := &issuer{}
	transport, client := sendWith(t, issuer)
	server, _ := startAPI(t)
	issuer.release = make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { post(t, client, server.URL, nil) })
	eventually(t, "a token is being issued", func() bool { return issuer.count() == 1 })
	// A waiting caller may leave, and the others keep waiting.
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 32 {
		if _, err := transport.token(ended, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("found %v", err)
		}
		all.Go(func() { post(t, client, server.URL, nil) })
	}
	close(issuer.release)
	all.Wait()
	if issuer.count() != 1 {
		t.Errorf("expected 1 token, found %d", issuer.count())
	}
}

func TestATokenIsRenewedShortlyBeforeItExpires(t *testing.T) {
	issuer := &issuer{lifetime: time.Hour}
	transport, client := sendWith(t, issuer)
	server, got := startAPI(t)
	post(t, client, server.URL, nil)
	if left := time.Until(transport.kept.issued.renewAt); left > keptMax || left < keptMax-time.Minute {
		t.Errorf("found %s", left)
	}
	// The moment has come, but there is no sidecar: the token still lasts.
	transport.kept.issued.renewAt = time.Now()
	issuer.failing.Store(true)
	post(t, client, server.URL, nil)
	issuer.failing.Store(false)
	post(t, client, server.URL, nil)
	expectSeen(t, got, "token-1", "token-1", "token-3")
	// Now it does not.
	transport.kept.issued.renewAt, transport.kept.issued.expiresAt = time.Now(), time.Now()
	issuer.failing.Store(true)
	if response, err := client.Get(server.URL); err == nil {
		t.Errorf("expected no answer, found %d", response.StatusCode)
	}
}

func TestAChainOfRedirectsThatIsNotKnownGetsNoToken(t *testing.T) {
	transport, client := sendWith(t, &issuer{})
	var got []string
	transport.Base = roundTripper(func(request *http.Request) *http.Response {
		got = append(got, request.URL.Host+" "+request.Header.Get("X-Auth-Token"))
		location := map[int]string{1: "/here", 2: "http://b.example/"}[len(got)]
		if location == "" {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}
		}
		// It does not say for which request it is, as that of net/http does.
		return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {location}}, Body: http.NoBody}
	})
	response, err := client.Get("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	expectSeen(t, func() []string { return got }, "a.example token-1", "a.example token-1", "b.example ")
	if !hasLeftOrigin(&http.Request{URL: response.Request.URL, Response: &http.Response{}}) {
		t.Error("expected that an unknown request is of another origin")
	}
}

type roundTripper func(*http.Request) *http.Response

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	return r(request), nil
}

func TestAProfileOfASidecar(t *testing.T) {
	local, _ := connectLocal(t, Options{})
	guarded := httptest.NewServer(Guard{Client: local, API: "balance"}.Handler(
		http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
			if name := TokenOf(request.Context()).Subject.Name; name != "account" {
				t.Errorf("found %s", name)
			}
		})))
	defer guarded.Close()
	transport := &Transport{Client: connect(t, Options{CallerToken: callerToken}), Profile: "job", APIs: []string{"balance"}}
	client := &http.Client{Transport: transport}
	if status := post(t, client, guarded.URL, nil); status != http.StatusOK {
		t.Errorf("found %d", status)
	}
	// The API knows a token as revoked, and the profile must get another one.
	first := transport.kept.issued.value
	revoke(t, first)
	eventually(t, "the revoked token is replaced", func() bool {
		return post(t, client, guarded.URL, nil) == http.StatusOK && transport.kept.issued.value != first
	})
	stranger := &http.Client{Transport: &Transport{Client: connect(t, Options{}), Profile: "job", APIs: []string{"balance"}}}
	var failed *Error
	if _, err := stranger.Get(guarded.URL); !errors.As(err, &failed) || failed.Reason != "CALLER_TOKEN_MISSING" {
		t.Errorf("found %v", err)
	}
}
