// Package portcullis asks a Portcullis sidecar whether credentials open APIs, and obtains tokens from it.
//
// [Guard] lets requests of net/http pass whose token opens an API, and [CallGuard] calls of gRPC. [Transport] sends requests with the
// token of a profile. With [Options.Local] a client decides in the memory of the program: it follows changes,
// and asks the sidecar once about each token.
//
// A denial is an answer. Where there is no answer, a call returns an [*Error]: treat it as a denial.
package portcullis

//go:generate ../../node_modules/.bin/node ../../scripts/buf.ts generate ../../proto --template buf.gen.yaml --output .

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

const (
	// DefaultAddress is where a sidecar listens unless its configuration says otherwise.
	DefaultAddress = "127.0.0.1:50051"
	// Names the address of the sidecar.
	addressVariable = "PORTCULLIS_GRPC_ADDRESS"

	deadlineDefault  = 5 * time.Second
	tokensMaxDefault = 10_000
	// The answer to a long batch, and the rules of a large matrix, exceed the 4 MiB that gRPC accepts by default.
	answerBytesMax = 64 << 20
	rulesBytesMax  = 256 << 20
)

// Options of a client. The zero Options are for a sidecar on this machine.
type Options struct {
	// Deadline of a call. Default: 5 seconds. Streams have none.
	Deadline time.Duration
	// CallerTokenFile has the secret that identifies the program: needed to issue by profile, to revoke tokens of others, and in local
	// mode. The file is read again while the client is used, so a new secret needs no restart.
	CallerTokenFile string
	// CallerToken is that secret itself.
	CallerToken string
	// IAMToken is the token of an account administrator, for administration. A secret.
	IAMToken string
	// TLS is for a sidecar on another machine. Nil: plaintext, for one on this machine.
	TLS *tls.Config
	// AllowPlaintext sends secrets in plaintext to another machine. Only for a connection that something else encrypts.
	AllowPlaintext bool
	// Local decides in the memory of the program: the client follows what changes, and asks about each token once. It needs the right
	// "follow" of a caller. Until it follows, and where it cannot, each check is asked.
	Local bool
	// Accounts limits what the local mode follows to these. Tokens of others are asked about each time.
	Accounts []string
	// TokensMax is how many pairs of token and client address the local mode knows at most. Default: 10,000.
	TokensMax int
	// Report is called, if the client cannot follow what changes, with the cause. Default: a line of package log.
	Report func(error)
}

// Client is a connection to a sidecar. It opens at the first call, and again after a failure. All methods may
// be called at once. Its streams end with Close, or when nothing refers to the client.
type Client struct {
	address    string
	deadline   time.Duration
	connection *grpc.ClientConn
	stub       portcullisv1.AuthorizationServiceClient
	// Whether secrets may not be sent, because others could read them.
	isExposed bool

	cache   answerCache
	local   *follower
	outage  outage
	guarded guardedAPIs
}

// Connect makes a client of the sidecar at HOST:PORT or unix:PATH. Empty: where PORTCULLIS_GRPC_ADDRESS says, or DefaultAddress.
func Connect(address string, options Options) (*Client, error) {
	address = cmp.Or(address, os.Getenv(addressVariable), DefaultAddress)
	caller, err := newPresented(options)
	if err != nil {
		return nil, err
	}
	client := &Client{
		address:   address,
		deadline:  cmp.Or(options.Deadline, deadlineDefault),
		isExposed: options.TLS == nil && !options.AllowPlaintext && !isThisMachine(address),
	}
	if client.isExposed && !caller.isEmpty() {
		return nil, client.exposed()
	}
	transport := insecure.NewCredentials()
	if options.TLS != nil {
		transport = credentials.NewTLS(options.TLS)
	}
	dialing := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithPerRPCCredentials(caller),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytesMax)),
		// A sidecar that is back is found within two seconds (jitter is added), and a connection that died silently is noticed.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 1600 * time.Millisecond},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	}
	if options.TLS == nil || isThisMachine(address) {
		// grpc-go alone would send plaintext through the proxy of the environment.
		dialing = append(dialing, grpc.WithNoProxy())
	}
	client.connection, err = grpc.NewClient(address, dialing...)
	if err != nil {
		return nil, fmt.Errorf("portcullis: address: expected HOST:PORT or unix:PATH: %w", err)
	}
	client.stub = portcullisv1.NewAuthorizationServiceClient(client.connection)
	if options.Local {
		report := options.Report
		if report == nil {
			report = func(err error) { log.Print("portcullis: each check is asked: ", err) }
		}
		client.local = follow(client.connection, newMemory(options.Accounts, cmp.Or(options.TokensMax, tokensMaxDefault)), report)
		// The follower has no reference to the client.
		runtime.AddCleanup(client, func(cancel context.CancelFunc) { cancel() }, client.local.cancel)
	}
	return client, nil
}

// Close ends the connection, and the streams of the client. A later call returns an *Error.
func (c *Client) Close() error {
	if c.local != nil {
		c.local.stop()
	}
	return c.connection.Close()
}

// Check decides whether a credential opens an API. In local mode the answer about a known token comes from memory.
func (c *Client) Check(ctx context.Context, question *Question) (answer Answer, err error) {
	if c.local != nil {
		if c.local.memory.answer(question, c.local.now(), &answer) {
			return answer, nil
		}
		return c.checkOnce(ctx, question)
	}
	response, err := c.ask(ctx, c.ends(), question)
	if err != nil {
		return Answer{}, err
	}
	return answerOf(response, question), nil
}

// CheckLocally decides from memory, at once, or says that Check would ask the sidecar: without local mode, about a token that is not
// known, and where the sidecar has said nothing for too long.
func (c *Client) CheckLocally(question *Question) (answer Answer, isKnown bool) {
	isKnown = c.local != nil && c.local.memory.answer(question, c.local.now(), &answer)
	return answer, isKnown
}

// When a call that begins now must have its answer.
func (c *Client) ends() time.Time { return time.Now().Add(c.deadline) }

// Asks the sidecar.
func (c *Client) ask(ctx context.Context, ends time.Time, question *Question) (*portcullisv1.CheckResponse, error) {
	if c.isExposed && question.Claims == nil {
		return nil, c.exposed()
	}
	response, err := callUntil(c, ctx, ends, c.stub.Check, question.request())
	if err != nil {
		return nil, err
	}
	return response, expectTimes(response.GetToken().GetIssuedAt(), response.GetToken().GetExpiresAt())
}

// CheckBatch makes many checks in one round trip. The answers have the order and the number of the questions.
func (c *Client) CheckBatch(ctx context.Context, questions []Question) ([]Answer, error) {
	request := &portcullisv1.CheckBatchRequest{Checks: make([]*portcullisv1.CheckRequest, len(questions))}
	for index := range questions {
		if c.isExposed && questions[index].Claims == nil {
			return nil, c.exposed()
		}
		request.Checks[index] = questions[index].request()
	}
	response, err := call(c, ctx, c.stub.CheckBatch, request)
	if err != nil {
		return nil, err
	}
	// With another number, a question could get the answer to another one.
	if len(response.GetResults()) != len(questions) {
		return nil, fmt.Errorf("portcullis: expected %d answers from the sidecar, found %d", len(questions), len(response.GetResults()))
	}
	answers := make([]Answer, len(questions))
	for index, each := range response.GetResults() {
		if err := expectTimes(each.GetToken().GetIssuedAt(), each.GetToken().GetExpiresAt()); err != nil {
			return nil, err
		}
		answers[index] = answerOf(each, &questions[index])
	}
	return answers, nil
}

// Issue issues a token for a scope, or for a set of APIs.
func (c *Client) Issue(ctx context.Context, request *portcullisv1.IssueRequest) (*portcullisv1.IssueResponse, error) {
	// The answer is a secret, too.
	if c.isExposed {
		return nil, c.exposed()
	}
	response, err := call(c, ctx, c.stub.Issue, request)
	if err != nil {
		return nil, err
	}
	return response, expectTimes(response.GetIssuedAt(), response.GetExpiresAt())
}

// Revoke revokes a token by its value, or by its id.
func (c *Client) Revoke(ctx context.Context, request *portcullisv1.RevokeRequest) (*portcullisv1.RevokeResponse, error) {
	if c.isExposed && request.GetValue() != "" {
		return nil, c.exposed()
	}
	return call(c, ctx, c.stub.Revoke, request)
}

// Plan finds the smallest set of tokens that opens all of the APIs.
func (c *Client) Plan(ctx context.Context, apis ...string) (*portcullisv1.PlanResponse, error) {
	return call(c, ctx, c.stub.Plan, &portcullisv1.PlanRequest{Apis: apis})
}

// WatchChanges follows the changes that make answers void. Options.Local does that for a program.
func (c *Client) WatchChanges(ctx context.Context, request *portcullisv1.WatchChangesRequest) (grpc.ServerStreamingClient[portcullisv1.WatchChangesResponse], error) {
	stream, err := c.stub.WatchChanges(ctx, request, grpc.MaxCallRecvMsgSize(rulesBytesMax))
	return stream, errorOf(ctx, err, c.address)
}

// Connection is for the stubs of package portcullisv1: every other call of the contract, such as those of its DirectoryService.
// Unlike the methods of the client, they do not refuse to send secrets in plaintext.
func (c *Client) Connection() grpc.ClientConnInterface { return c.connection }

// Makes a call that has the deadline of the client.
func call[Request, Response any](
	c *Client, ctx context.Context, method func(context.Context, *Request, ...grpc.CallOption) (*Response, error), request *Request,
) (*Response, error) {
	return callUntil(c, ctx, c.ends(), method, request)
}

func callUntil[Request, Response any](
	c *Client, ctx context.Context, ends time.Time, method func(context.Context, *Request, ...grpc.CallOption) (*Response, error), request *Request,
) (*Response, error) {
	limited, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	response, err := method(limited, request)
	if err != nil {
		return nil, errorOf(ctx, err, c.address)
	}
	return response, nil
}

func (c *Client) exposed() error { return fmt.Errorf("portcullis: %s: %w", c.address, ErrPlaintext) }

// Time between two looks at the file of the caller token.
const tokenFileFresh = 10 * time.Second

// The secrets that a program presents with each call.
type presented struct {
	file, iamToken string

	lock   sync.Mutex
	token  string
	readAt time.Time
}

func newPresented(options Options) (*presented, error) {
	made := &presented{file: options.CallerTokenFile, token: secretIn(options.CallerToken), iamToken: secretIn(options.IAMToken)}
	if made.file != "" {
		if err := made.read(); err != nil {
			return nil, err
		}
	}
	for name, token := range map[string]string{"CallerToken": made.token, "IAMToken": made.iamToken} {
		if !isVisible(token) {
			return nil, fmt.Errorf("portcullis: %s: expected visible ASCII characters without spaces", name)
		}
	}
	return made, nil
}

func (p *presented) isEmpty() bool { return p.token == "" && p.iamToken == "" }

// Reads the file. The token in it stays as it was if that is not possible.
func (p *presented) read() error {
	p.readAt = time.Now()
	content, err := os.ReadFile(p.file)
	if err != nil {
		return fmt.Errorf("portcullis: CallerTokenFile: %w", err)
	}
	token := secretIn(string(content))
	if token == "" || !isVisible(token) {
		return errors.New("portcullis: CallerTokenFile: expected visible ASCII characters without spaces")
	}
	p.token = token
	return nil
}

// The secret in the text of a file or a variable. A byte order mark and white space around it are not part of it.
func secretIn(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (p *presented) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.file != "" && time.Since(p.readAt) > tokenFileFresh {
		// The old token may still count.
		_ = p.read()
	}
	metadata := map[string]string{}
	if p.token != "" {
		metadata["authorization"] = "Bearer " + p.token
	}
	if p.iamToken != "" {
		metadata["x-auth-token"] = p.iamToken
	}
	return metadata, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Connect has looked at it already.
func (p *presented) RequireTransportSecurity() bool { return false }

func isVisible(token string) bool {
	for index := range len(token) {
		if token[index] < 0x21 || token[index] > 0x7e {
			return false
		}
	}
	return true
}
