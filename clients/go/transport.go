package portcullis

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

// Transport is an http.RoundTripper that puts the token of a profile on each request, in its header and behind its scheme. It keeps the
// token until shortly before it expires, and renews it once where an API answers 401.
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
	// Place of the token's kind to send it in, as the matrix writes it: "X-Api-Key", "Authorization: Bearer" or
	// "Authorization: Basic (password)". Empty: the first one.
	Place string
	// Base sends the requests. Nil: http.DefaultTransport.
	Base http.RoundTripper

	lock sync.Mutex
	kept profileToken
	// Nil: no token is being issued.
	issuing *issuing
}

// The token of a profile, as a program keeps it. It has no clock and calls nothing; clients/conformance describes what it must do.
type profileToken struct {
	// Nil: there is none, or an API has refused it.
	issued *issued
	// A token that an API has refused, if none came since. A secret.
	rejected string
}

type issued struct {
	header, value string
	// The content of the header: the value, behind its scheme.
	headerValue string
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
	// A token is renewed this long before it expires, or a tenth of what it had left when it came.
	renewBefore = time.Minute
	// The profile may have another token after this time, also in place of one that never expires.
	keptMax = 5 * time.Minute
)

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.roundTrip(request)
	if err == nil && response.Request == nil {
		// A redirect is known by it.
		response.Request = request
	}
	return response, err
}

func (t *Transport) roundTrip(request *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if hasLeftOrigin(request) {
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

// Whether a redirect leads elsewhere than where the program sent the request, or one before it did. Such a request does not get the token.
func hasLeftOrigin(request *http.Request) bool {
	for each := request; each.Response != nil; each = each.Response.Request {
		if each.Response.Request == nil || !isSameOrigin(each.Response.Request.URL, request.URL) {
			return true
		}
	}
	return false
}

func isSameOrigin(some, other *url.URL) bool {
	return some.Scheme == other.Scheme && strings.EqualFold(some.Hostname(), other.Hostname()) && portOf(some) == portOf(other)
}

func portOf(location *url.URL) string {
	if port := location.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[location.Scheme]
}

// A RoundTripper must not change the request.
func withToken(request *http.Request, token *issued) *http.Request {
	copied := request.Clone(request.Context())
	copied.Header.Set(token.header, token.headerValue)
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
	t.kept.refuse(rejected)
	if current := t.kept.current(now); current != nil {
		t.lock.Unlock()
		return current, nil
	}
	lasting := t.kept.lasting(now)
	running := t.issuing
	if running == nil {
		running = &issuing{done: make(chan struct{})}
		t.issuing = running
		// Others wait for it too, so it does not end with this request.
		go t.issue(context.WithoutCancel(ctx), running, t.kept.rejected)
	}
	t.lock.Unlock()
	select {
	case <-running.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if running.err != nil && lasting != nil {
		return lasting, nil
	}
	return running.issued, running.err
}

func (t *Transport) issue(ctx context.Context, running *issuing, rejected string) {
	request := &portcullisv1.IssueRequest{
		Requester:     &portcullisv1.IssueRequest_Profile{Profile: t.Profile},
		RejectedValue: rejected,
		Place:         t.Place,
	}
	if t.Scope.Account != "" {
		request.Purpose = &portcullisv1.IssueRequest_Scope{Scope: t.Scope.message()}
	} else {
		request.Purpose = &portcullisv1.IssueRequest_Apis{Apis: &portcullisv1.ApiSelection{Apis: t.APIs, Project: t.Project}}
	}
	began := time.Now()
	response, err := t.Client.Issue(ctx, request)
	t.lock.Lock()
	t.issuing = nil
	if err != nil {
		running.err = fmt.Errorf("portcullis: no token of profile %q: %w", t.Profile, err)
	} else {
		running.issued = t.kept.came(response, began)
	}
	t.lock.Unlock()
	close(running.done)
}

// The token that is sent without asking the sidecar.
func (p *profileToken) current(now time.Time) *issued {
	// By both clocks: the monotonic one of Linux stands still while a machine sleeps.
	if p.issued != nil && now.Before(p.issued.renewAt) && now.Round(0).Before(p.issued.renewAt.Round(0)) {
		return p.issued
	}
	return nil
}

// The token that is sent where the sidecar has no answer.
func (p *profileToken) lasting(now time.Time) *issued {
	if p.issued != nil && (p.issued.expiresAt.IsZero() || now.Before(p.issued.expiresAt)) {
		return p.issued
	}
	return nil
}

// An API has refused a token. Another one may have come since it was sent.
func (p *profileToken) refuse(value string) {
	if value != "" && p.issued != nil && p.issued.value == value {
		p.issued, p.rejected = nil, value
	}
}

// A token came that was asked for at a time.
func (p *profileToken) came(response *portcullisv1.IssueResponse, now time.Time) *issued {
	made := &issued{header: response.GetHeader(), value: response.GetValue(), headerValue: headerValueOf(response), renewAt: now.Add(keptMax)}
	if response.GetExpiresAt() != nil {
		made.expiresAt = response.GetExpiresAt().AsTime()
		left := made.expiresAt.Sub(now)
		made.renewAt = now.Add(min(keptMax, left-min(renewBefore, left/10)))
	}
	p.issued, p.rejected = made, ""
	return made
}

// The content of the header: the token behind its scheme, or as a part of Basic.
func headerValueOf(response *portcullisv1.IssueResponse) string {
	content := response.GetValue()
	switch response.GetBasic() {
	case "user":
		content = base64.StdEncoding.EncodeToString([]byte(content + ":"))
	case "password":
		content = base64.StdEncoding.EncodeToString([]byte(":" + content))
	}
	return strings.TrimPrefix(response.GetScheme()+" "+content, " ")
}

// String shows no secret.
func (t *Transport) String() string {
	return "portcullis.Transport of " + strings.Join(append([]string{t.Profile}, t.APIs...), " ")
}
