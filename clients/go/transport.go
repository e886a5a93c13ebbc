package portcullis

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Transport is an http.RoundTripper that puts the token of a profile on each request. It keeps the token until shortly before it
// expires, and renews it once where an API answers 401.
//
//	client := &http.Client{Transport: &portcullis.Transport{Client: sidecar, Profile: "nightly-report", APIs: []string{"reports"}}}
type Transport struct {
	// Client that issues the token. It needs a caller token. Required.
	Client *Client
	// Profile of the sidecar that has the credential. Required.
	Profile string
	// APIs that the requests are sent to: the token has a kind that all of them accept.
	APIs []string
	// Project for which the token is, if the APIs only accept tokens of a project.
	Project string
	// Scope of the token, in place of APIs.
	Scope Scope
	// Base sends the requests. Nil: http.DefaultTransport.
	Base http.RoundTripper

	lock sync.Mutex
	// Nil: there is no token yet, or the last one may not be used any longer.
	issued *issued
	// A token that an API has refused, if there is no later one yet. A secret.
	rejected string
	// Nil: no token is being issued.
	issuing *issuing
}

type issued struct {
	header, value string
	// When another one should be issued.
	renewAt time.Time
	// Zero: never.
	expiresAt time.Time
}

// A token that is being issued.
type issuing struct {
	done   chan struct{}
	issued *issued
	err    error
}

const (
	// A token is renewed so long before it expires, or a tenth of what it had left when it came.
	renewBefore = time.Minute
	// The profile may have another token after this time, also in place of one that never expires.
	keptMax = 5 * time.Minute
)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if !isForSameHost(request) {
		return base.RoundTrip(request)
	}
	token, err := t.token(request.Context(), "")
	if err != nil {
		closeBody(request)
		return nil, err
	}
	response, err := base.RoundTrip(withToken(request, token))
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	renewed, err := t.token(request.Context(), token.value)
	if err != nil || renewed.value == token.value {
		// The answer says more than why there is no other token.
		return response, nil
	}
	again, isPossible := repeated(request)
	if !isPossible {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	_ = response.Body.Close()
	return base.RoundTrip(withToken(again, renewed))
}

// Whether a request goes where the program sent it. A redirect to another host does not get the token.
func isForSameHost(request *http.Request) bool {
	first := request
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	return first.URL.Host == request.URL.Host && (first.URL.Scheme == request.URL.Scheme || request.URL.Scheme == "https")
}

// A RoundTripper must not change the request.
func withToken(request *http.Request, token *issued) *http.Request {
	copied := request.Clone(request.Context())
	copied.Header.Set(token.header, token.value)
	return copied
}

// The request once more, if its body can be sent once more.
func repeated(request *http.Request) (*http.Request, bool) {
	if request.Body == nil || request.Body == http.NoBody {
		return request, true
	}
	if request.GetBody == nil {
		return nil, false
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, false
	}
	copied := *request
	copied.Body = body
	return &copied, true
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
}

// The token, which is not the rejected one. All who need one at the same time wait for the same.
func (t *Transport) token(ctx context.Context, rejected string) (*issued, error) {
	now := time.Now()
	t.lock.Lock()
	if rejected != "" && t.issued != nil && t.issued.value == rejected {
		t.issued, t.rejected = nil, rejected
	}
	known := t.issued
	if known != nil && now.Before(known.renewAt) {
		t.lock.Unlock()
		return known, nil
	}
	running := t.issuing
	if running == nil {
		running = &issuing{done: make(chan struct{})}
		t.issuing = running
		// Others wait for it too, so it does not end with this request.
		go t.issue(context.WithoutCancel(ctx), running, t.rejected)
	}
	t.lock.Unlock()
	select {
	case <-running.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if running.err != nil && known != nil && (known.expiresAt.IsZero() || now.Before(known.expiresAt)) {
		return known, nil
	}
	return running.issued, running.err
}

func (t *Transport) issue(ctx context.Context, running *issuing, rejected string) {
	request := &portcullisv1.IssueRequest{
		Requester:     &portcullisv1.IssueRequest_Profile{Profile: t.Profile},
		RejectedValue: rejected,
	}
	if t.Scope.Account != "" {
		request.Purpose = &portcullisv1.IssueRequest_Scope{Scope: t.Scope.message()}
	} else {
		request.Purpose = &portcullisv1.IssueRequest_Apis{Apis: &portcullisv1.ApiSelection{Apis: t.APIs, Project: t.Project}}
	}
	began := time.Now()
	response, err := t.Client.Issue(ctx, request)
	if err != nil {
		running.err = fmt.Errorf("portcullis: no token of profile %q: %w", t.Profile, err)
	} else {
		running.issued = issuedOf(response, began)
	}
	t.lock.Lock()
	t.issuing = nil
	if err == nil {
		t.issued, t.rejected = running.issued, ""
	}
	t.lock.Unlock()
	close(running.done)
}

func issuedOf(response *portcullisv1.IssueResponse, now time.Time) *issued {
	made := &issued{header: response.GetHeader(), value: response.GetValue(), renewAt: now.Add(keptMax)}
	if response.GetExpiresAt() != nil {
		made.expiresAt = response.GetExpiresAt().AsTime()
		left := made.expiresAt.Sub(now)
		made.renewAt = now.Add(min(keptMax, left-min(renewBefore, left/10)))
	}
	return made
}

// String shows no secret.
func (t *Transport) String() string {
	return "portcullis.Transport of " + strings.Join(append([]string{t.Profile}, t.APIs...), " ")
}
