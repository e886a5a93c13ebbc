package portcullis

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// Guard lets requests of net/http pass whose token opens an API. It answers the others itself: 401 or 403 with what would be accepted,
// 503 where there is no answer.
//
//	http.Handle("GET /accounts/{account}/balance", portcullis.Guard{Client: client, API: "balance", Target: accountOf}.Handler(balance))
type Guard struct {
	// Client that is asked. Required.
	Client *Client
	// API that the requests ask for.
	API string
	// APIOf names the API of a request, where requests ask for several ones. A request for which it returns none is denied.
	APIOf func(*http.Request) string
	// Routes leaves it to the routes of the sidecar which API a request asks for, and who owns the requested resource. A request that they
	// refuse is denied: no route has it, it does not say whose resource it asks for, or servers could read it in different ways.
	Routes bool
	// Target returns the account, and the project if any, that owns the requested resource: from the records of the program or the path,
	// never from the token. A request for which it returns no account is denied. Nil: only the matrix decides.
	Target func(*http.Request) Scope
	// ClientAddress returns the IP address of the sender, for accounts that restrict addresses. Nil: the one of the connection, which
	// behind a proxy is that of the proxy.
	ClientAddress func(*http.Request) string
	// HideOthers answers 404 where the resource belongs to others, so that a client does not learn that it exists.
	HideOthers bool
	// OnFailure is called where there was no answer: for each request, and once for the client if no sidecar answers when a guard starts.
	// It is called once with an *UnknownAPIError if the matrix does not have the API. Nil: lines of package log; of an outage these are its
	// first failure, a count each minute, and its end.
	OnFailure func(error)
}

// Handler returns a handler that calls next for the requests that pass. AnswerOf and TokenOf say who sent them.
func (g Guard) Handler(next http.Handler) http.Handler {
	ways := 0
	for _, isGiven := range []bool{g.API != "", g.APIOf != nil, g.Routes} {
		if isGiven {
			ways++
		}
	}
	if g.Client == nil || ways != 1 {
		panic("portcullis: Guard: expected a Client, and one of API, APIOf and Routes")
	}
	if g.Routes && g.Target != nil {
		panic("portcullis: Guard: expected no Target, because the routes say it")
	}
	if g.API != "" {
		g.Client.seek(g.OnFailure, g.API)
	}
	return http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		answer, denied := g.judge(request)
		if denied != nil {
			denied.write(response)
			return
		}
		passed := request.WithContext(withAnswer(request.Context(), answer))
		// Values that are set behind the guard are seen before it, too: the server removes the files of a form, and logs have the pattern.
		defer func() {
			request.Pattern = passed.Pattern
			request.Form, request.PostForm, request.MultipartForm = passed.Form, passed.PostForm, passed.MultipartForm
		}()
		next.ServeHTTP(response, passed)
	})
}

// The answer in place of the handler; nil: the request passes.
func (g Guard) judge(request *http.Request) (Answer, *denial) {
	question := Question{API: g.API, HTTP: request.Header}
	if g.Routes {
		question.Request = &Request{Method: request.Method, Host: request.Host, Path: request.RequestURI}
	}
	if g.APIOf != nil {
		if question.API = g.APIOf(request); question.API == "" {
			return Answer{}, apiNotFound
		}
	}
	var target Scope
	if g.Target != nil {
		// Without a target the check would be about the API alone, and the resource could belong to any account.
		if target = g.Target(request); target.Account == "" {
			return Answer{}, targetNotFound
		}
		question.Target = &target
	}
	if g.ClientAddress != nil {
		question.ClientAddress = g.ClientAddress(request)
	} else {
		question.ClientAddress = hostOf(request.RemoteAddr)
	}
	answer, denied := g.Client.judge(request.Context(), &question, g.HideOthers, g.OnFailure)
	if g.API != "" && answer.Reason == UnknownAPI {
		g.Client.denyUnknown(g.API, g.OnFailure)
	}
	return answer, denied
}

// The answer to a question; or the answer in place of the handler.
func (c *Client) judge(ctx context.Context, question *Question, hideOthers bool, onFailure func(error)) (Answer, *denial) {
	answer, err := c.checkCached(ctx, question)
	switch {
	case err == nil && answer.Allowed:
		return answer, nil
	case err == nil:
		return answer, denialOf(&answer, hideOthers)
	case ctx.Err() != nil:
		// The client has left, which is not a failure.
		return Answer{}, failureOf(err)
	}
	return Answer{}, c.failed(err, onFailure)
}

func (d *denial) write(response http.ResponseWriter) {
	for _, header := range d.headers() {
		response.Header().Set(header[0], header[1])
	}
	body := d.body()
	response.Header().Set("Content-Length", fmt.Sprint(len(body)))
	response.WriteHeader(d.status)
	_, _ = io.WriteString(response, body)
}

// The IP address of HOST:PORT. Empty: there is none, as with a Unix socket.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

type answerKey struct{}

func withAnswer(ctx context.Context, answer Answer) context.Context {
	return context.WithValue(ctx, answerKey{}, &answer)
}

// AnswerOf returns the answer that let a request or a call pass. Nil: no guard did.
func AnswerOf(ctx context.Context) *Answer {
	answer, _ := ctx.Value(answerKey{}).(*Answer)
	return answer
}

// TokenOf returns the verified token of a request or a call that passed: who sent it. Nil: no guard let it pass.
func TokenOf(ctx context.Context) *Token {
	if answer := AnswerOf(ctx); answer != nil {
		return answer.Token()
	}
	return nil
}
