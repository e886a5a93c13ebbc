package portcullis

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

const (
	account      = "123456"
	otherAccount = "654321"
	callerToken  = "follower-caller-token-0123456789abcdef"
	// May do everything.
	operatorToken = "operator-caller-token-0123456789abcdef"
	// How many static tokens one user has, beside those that tests name.
	manyTokens = 10_000
)

// The sidecar of all tests, started from the checkout. It has a directory with two accounts.
var shared struct {
	folder, address string
	process         *exec.Cmd
	secrets         map[string]string
	many            []string
	// The proxy that the environment of all tests names.
	proxy *proxy
}

// A proxy that refuses every request, and notes its first line.
type proxy struct {
	net.Listener
	lock sync.Mutex
	seen []string
}

func startProxy() (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{Listener: listener}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(connection).ReadString('\n')
			p.lock.Lock()
			p.seen = append(p.seen, strings.TrimSpace(line))
			p.lock.Unlock()
			_, _ = io.WriteString(connection, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
			_ = connection.Close()
		}
	}()
	return p, nil
}

// The requests that it has seen since the last look.
func (p *proxy) noted() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if err := startShared(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() {
			_ = stop(shared.process)
			_ = shared.proxy.Close()
			_ = os.RemoveAll(shared.folder)
		}()
		return m.Run()
	}())
}

// The folder of this package. The tests run in that of the sidecar, where the examples find the files that they name.
var here, _ = os.Getwd()

func portcullis(arguments ...string) *exec.Cmd {
	checkout := filepath.Join(here, "../..")
	launcher := filepath.Join(checkout, "sidecar/portcullis.js")
	command := exec.Command(filepath.Join(checkout, "node_modules/.bin/node"), append([]string{launcher}, arguments...)...)
	command.Dir = shared.folder
	return command
}

func startShared() error {
	folder, err := os.MkdirTemp("", "portcullis-go-")
	if err != nil {
		return err
	}
	shared.folder = folder
	if shared.proxy, err = startProxy(); err != nil {
		return err
	}
	// Before anything else: net/http reads them once.
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		if err := os.Setenv(name, "http://"+shared.proxy.Addr().String()); err != nil {
			return err
		}
	}
	var names bytes.Buffer
	for index := range manyTokens {
		fmt.Fprintf(&names, ", many-%d", index)
	}
	write("directory.yaml", fmt.Sprintf(`accounts:
  - account: "%s"
    projects: [alpha, beta]
    service_users:
      - { name: account, permissions: [{ scope: account }] }
      - { name: alpha, permissions: [{ scope: projects, projects: [alpha] }] }
    control_panel_users:
      - { name: owner, static_tokens: [key%s] }
  - account: "%s"
    control_panel_users:
      - { name: stranger, static_tokens: [other] }
`, account, names.String(), otherAccount))
	output, err := portcullis("directory", "apply", "directory.yaml", "--data", "data", "--json").Output()
	if err != nil {
		return fmt.Errorf("directory apply: %w", err)
	}
	var applied struct {
		Secrets []struct{ User, Name, Value string }
	}
	if err := json.Unmarshal(output, &applied); err != nil {
		return err
	}
	shared.secrets = map[string]string{}
	for _, each := range applied.Secrets {
		if len(each.Name) > 5 && each.Name[:5] == "many-" {
			shared.many = append(shared.many, each.Value)
			continue
		}
		shared.secrets[each.User] = each.Value
	}
	write("caller.token", callerToken)
	write("password", shared.secrets["account"])
	write("portcullis.yaml", fmt.Sprintf(`callers:
  - { name: follower, token_file: caller.token, rights: [follow], profiles: [job] }
  - { name: operator, token_file: operator, rights: [everything] }
  - { name: stranger, token_file: stranger, rights: [read] }
profiles:
  job: { account: "%s", user_name: account, password_file: password }
directory: { staleness_ms: 2000 }
routes:
  - { path: /accounts/, api: iam }
  - { path: "/accounts/{account}/balance", methods: [GET], api: balance, target: { account: { segment: account } } }
  - { path: /balance, api: balance, target: { account: { header: X-Account } } }
  - { path: /grpc.health.v1.Health/Check, methods: [POST], api: balance, target: { account: { header: account } } }
  - { path: /grpc.health.v1.Health/Watch, methods: [POST], api: balance, target: { account: { header: account } } }
log: { level: error }
`, account))
	write("operator", operatorToken)
	write("stranger", "stranger-caller-token-0123456789abcdef")
	shared.process, shared.address, err = serve("--config", "portcullis.yaml", "--data", "data", "--grpc", "127.0.0.1:0")
	return errors.Join(err, os.Chdir(folder), os.Setenv(addressVariable, shared.address), os.Setenv("PORTCULLIS_TEST_PACKAGE", here))
}

func write(name, content string) {
	if err := os.WriteFile(filepath.Join(shared.folder, name), []byte(content), 0o600); err != nil {
		panic(err)
	}
}

// Starts a sidecar, and waits until it is ready.
func serve(flags ...string) (process *exec.Cmd, address string, err error) {
	process = portcullis(append([]string{"serve", "--http", "off", "--json"}, flags...)...)
	process.Stderr = os.Stderr
	output, err := process.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := process.Start(); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return nil, "", fmt.Errorf("the sidecar did not start: %w", errors.Join(err, process.Wait()))
	}
	var ready struct{ GRPC string }
	err = json.Unmarshal(line, &ready)
	return process, ready.GRPC, err
}

func stop(process *exec.Cmd) error {
	if err := process.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return process.Wait()
}

// A client of the shared sidecar.
func connect(t testing.TB, options Options) *Client {
	t.Helper()
	return connectTo(t, shared.address, options)
}

func connectTo(t testing.TB, address string, options Options) *Client {
	t.Helper()
	client, err := Connect(address, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A client in local mode that follows already, and the number of checks that it asked.
func connectLocal(t testing.TB, options Options) (*Client, *atomic.Int64) {
	t.Helper()
	options.Local = true
	if options.CallerToken == "" {
		options.CallerToken = callerToken
	}
	client := connect(t, options)
	counted := &countedStub{AuthorizationServiceClient: client.stub}
	client.stub = counted
	eventually(t, "the client follows", func() bool { return client.local.now() < client.local.memory.view.Load().until })
	return client, &counted.checks
}

type countedStub struct {
	portcullisv1.AuthorizationServiceClient
	checks atomic.Int64
}

func (c *countedStub) Check(ctx context.Context, request *portcullisv1.CheckRequest, options ...grpc.CallOption) (*portcullisv1.CheckResponse, error) {
	c.checks.Add(1)
	return c.AuthorizationServiceClient.Check(ctx, request, options...)
}

// Waits until something is so. It fails long after it should have been.
func eventually(t testing.TB, what string, isSo func() bool) {
	t.Helper()
	for began := time.Now(); !isSo(); time.Sleep(2 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("expected that %s", what)
		}
	}
}

func header(name, value string) http.Header { return http.Header{name: {value}} }

// Asks about the API `balance` with a static token.
func balance(value string) Question {
	return Question{API: "balance", HTTP: header("X-Token", value), Target: &Scope{Account: account}, ClientAddress: "192.0.2.1"}
}

func check(t testing.TB, client *Client, question Question) Answer {
	t.Helper()
	answer, err := client.Check(context.Background(), &question)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A token of a service user.
func issueToken(t testing.TB, user, project string) string {
	t.Helper()
	response, err := connect(t, Options{}).Issue(context.Background(), &portcullisv1.IssueRequest{
		Requester: &portcullisv1.IssueRequest_Password{Password: &portcullisv1.PasswordRequester{
			UserName: user, Account: account, Password: shared.secrets[user],
		}},
		Purpose: &portcullisv1.IssueRequest_Scope{Scope: &portcullisv1.Scope{Account: account, Project: project}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return response.GetValue()
}

// A new static token, and its id.
func createToken(t testing.TB, name string) (value, id string) {
	t.Helper()
	directory := portcullisv1.NewDirectoryServiceClient(connect(t, Options{CallerToken: operatorToken}).Connection())
	response, err := directory.CreateStaticToken(context.Background(), &portcullisv1.CreateStaticTokenRequest{
		Account: account, UserName: "owner", Name: name,
	})
	if err != nil {
		t.Fatal(err)
	}
	return response.GetValue(), response.GetToken().GetTokenId()
}

func revoke(t testing.TB, value string) {
	t.Helper()
	_, err := connect(t, Options{CallerToken: operatorToken}).Revoke(context.Background(), &portcullisv1.RevokeRequest{
		Token: &portcullisv1.RevokeRequest_Value{Value: value},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Writes a key and a certificate for this machine, which signs itself, and returns what trusts it.
func writeCertificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sidecar"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"follower.example"}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write("certificate.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	pair, err := tls.LoadX509KeyPair(filepath.Join(shared.folder, "certificate.pem"), filepath.Join(shared.folder, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	parsed, _ := x509.ParseCertificate(certificate)
	roots.AddCert(parsed)
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
}
