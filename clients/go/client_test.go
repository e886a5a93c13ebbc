package portcullis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

func TestCallsOfTheContract(t *testing.T) {
	client, ctx := connect(t, Options{CallerTokenFile: filepath.Join(shared.folder, "operator")}), context.Background()
	question := balance(shared.secrets["owner"])

	answer := check(t, client, question)
	if !answer.Allowed || answer.Reason != Allowed || answer.Header() != "X-Token" || !answer.Verified() || len(answer.Accepted()) != 0 {
		t.Errorf("found %+v", answer)
	}
	token := answer.Token()
	if token == nil || token.Scope != (Scope{Account: account}) || token.Subject.Name != "owner" || token.ID == "" || token.IssuedAt.IsZero() || !token.ExpiresAt.IsZero() {
		t.Errorf("found %+v", token)
	}

	claims := Question{API: "reports", Claims: &Claims{Kind: "static_token", Scope: Scope{Account: account}}}
	answers, err := client.CheckBatch(ctx, []Question{question, balance("unknown"), claims})
	if err != nil {
		t.Fatal(err)
	}
	for index, expected := range []Reason{Allowed, CredentialInvalid, Allowed} {
		if answers[index].Reason != expected {
			t.Errorf("%d: expected %s, found %s", index, expected, answers[index].Reason)
		}
	}

	plan, err := client.Plan(ctx, "reports", "balance")
	if err != nil || len(plan.GetTokens()) != 1 || plan.GetTokens()[0].GetKind() != "static_token" {
		t.Errorf("found %v, %v", plan, err)
	}

	value, id := createToken(t, "of-the-contract")
	revoked, err := client.Revoke(ctx, &portcullisv1.RevokeRequest{Token: &portcullisv1.RevokeRequest_Value{Value: value}})
	if err != nil || revoked.GetTokenId() != id {
		t.Errorf("found %v, %v", revoked, err)
	}
	if answer := check(t, client, balance(value)); answer.Allowed || answer.Reason != CredentialRevoked {
		t.Errorf("found %+v", answer)
	}

	stream, err := client.WatchChanges(ctx, &portcullisv1.WatchChangesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || !first.GetVoided().GetEverything() || first.GetRules() == nil {
		t.Errorf("found %v, %v", first, err)
	}
}

func TestAnErrorSaysWhatIsWrong(t *testing.T) {
	client, ctx := connect(t, Options{}), context.Background()
	rows := []struct {
		name     string
		make     func() error
		expected Error
	}{
		{"a request that is refused", func() error {
			_, err := client.Check(ctx, &Question{Claims: &Claims{Kind: "static_token"}})
			return err
		},
			Error{Code: codes.InvalidArgument, Reason: "INVALID_ARGUMENT"}},
		{"a login that failed", func() error {
			_, err := client.Issue(ctx, &portcullisv1.IssueRequest{
				Requester: &portcullisv1.IssueRequest_Password{Password: &portcullisv1.PasswordRequester{UserName: "nobody", Account: account, Password: "x"}},
				Purpose:   &portcullisv1.IssueRequest_Scope{Scope: &portcullisv1.Scope{Account: account}},
			})
			return err
		}, Error{Code: codes.Unauthenticated, Reason: "LOGIN_FAILED"}},
		{"no sidecar", func() error {
			_, err := connectTo(t, "unix:"+filepath.Join(shared.folder, "absent"), Options{}).Check(ctx, new(balance("x")))
			return err
		}, Error{Code: codes.Unavailable}},
		{"a context that has ended", func() error {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, err := client.Check(ended, new(balance("x")))
			return err
		}, Error{Code: codes.Canceled}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var found *Error
			if !errors.As(row.make(), &found) || found.Code != row.expected.Code || found.Reason != row.expected.Reason {
				t.Errorf("found %#v", found)
			}
		})
	}
}

func TestNoSecretGoesToAnotherMachineInPlaintext(t *testing.T) {
	for address, isHere := range map[string]bool{
		"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, "unix:x": true, "unix-abstract:x": true, "dns:///127.1.2.3:1": true,
		"192.0.2.1:1": false, "localhost.example:1": false, "[2001:db8::1]:1": false, "127.0.0.1.example:1": false, "dns:///sidecar:1": false,
	} {
		if isThisMachine(address) != isHere {
			t.Errorf("%s: expected %t", address, isHere)
		}
	}
	ctx := context.Background()
	if _, err := Connect("192.0.2.1:1", Options{CallerToken: "pcst_1"}); !errors.Is(err, ErrPlaintext) || strings.Contains(err.Error(), "pcst_1") {
		t.Errorf("found %v", err)
	}
	client := connectTo(t, "192.0.2.1:1", Options{})
	_, checked := client.Check(ctx, new(balance("x")))
	_, batch := client.CheckBatch(ctx, []Question{balance("x")})
	_, issued := client.Issue(ctx, &portcullisv1.IssueRequest{})
	_, revoked := client.Revoke(ctx, &portcullisv1.RevokeRequest{Token: &portcullisv1.RevokeRequest_Value{Value: "x"}})
	for name, err := range map[string]error{"Check": checked, "CheckBatch": batch, "Issue": issued, "Revoke": revoked} {
		if !errors.Is(err, ErrPlaintext) {
			t.Errorf("%s: found %v", name, err)
		}
	}
}

func TestTheProxyOfTheEnvironmentGetsTLSForOtherMachinesAlone(t *testing.T) {
	shared.proxy.noted()
	// The last one reaches this machine, and is not loopback.
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0"} {
		client := connectTo(t, strings.Replace(shared.address, "127.0.0.1", host, 1), Options{AllowPlaintext: true})
		check(t, client, balance(shared.secrets["owner"]))
	}
	for address, expected := range map[string]string{
		"127.0.0.1:1": "[]", "unix:/absent": "[]", "sidecar.example:443": "[CONNECT sidecar.example:443 HTTP/1.1]",
	} {
		// A connection that cannot be made is tried again.
		client := connectTo(t, address, Options{TLS: &tls.Config{}})
		question := balance("x")
		if _, err := client.Check(context.Background(), &question); err == nil {
			t.Errorf("%s: expected no answer", address)
		}
		_ = client.Close()
		if seen := fmt.Sprint(slices.Compact(shared.proxy.noted())); seen != expected {
			t.Errorf("%s: expected %s, found %s", address, expected, seen)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, options := range map[string]Options{
		"no file":             {CallerTokenFile: filepath.Join(shared.folder, "absent")},
		"a token with spaces": {CallerToken: "secret secret"},
		"a token of bytes":    {IAMToken: "secret\xff"},
	} {
		if _, err := Connect("", options); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: found %v", name, err)
		}
	}
	t.Setenv(addressVariable, shared.address)
	client := connectTo(t, "", Options{})
	if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed {
		t.Errorf("found %+v", answer)
	}
}

func TestANewCallerTokenIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	put := func(token string) {
		if err := os.WriteFile(file, []byte("\ufeff"+token+"\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("first")
	presented, err := newPresented(Options{CallerTokenFile: file})
	if err != nil {
		t.Fatal(err)
	}
	// A variable may have been written as a file is.
	if made, err := newPresented(Options{CallerToken: "\ufefftoken\n", IAMToken: "iam\n"}); err != nil || made.token != "token" || made.iamToken != "iam" {
		t.Errorf("found %+v, %v", made, err)
	}
	for _, expected := range []string{"second", "third"} {
		put(expected)
		presented.readAt = presented.readAt.Add(-2 * tokenFileFresh)
		if metadata, _ := presented.GetRequestMetadata(context.Background()); metadata["authorization"] != "Bearer "+expected {
			t.Errorf("expected %s", expected)
		}
	}
	put("")
	presented.readAt = presented.readAt.Add(-2 * tokenFileFresh)
	if metadata, _ := presented.GetRequestMetadata(context.Background()); metadata["authorization"] != "Bearer third" {
		t.Error("expected the token that was there before")
	}
}

func TestOverTLSAndAUnixSocket(t *testing.T) {
	trusted := writeCertificate(t)
	write("tls.yaml", `callers:
  - { name: follower, token_file: caller.token, rights: [follow] }
  - { name: job, certificate: { dns: follower.example }, rights: [follow] }
grpc: { tls: { certificate: certificate.pem, key: key.pem, client_ca: certificate.pem } }
log: { level: error }
`)
	rows := []struct {
		name    string
		flags   []string
		options Options
	}{
		{"TLS", []string{"--config", "tls.yaml", "--grpc", "127.0.0.1:0"}, Options{TLS: trusted}},
		{"a Unix socket", []string{"--config", "portcullis.yaml", "--grpc", "unix:" + filepath.Join(shared.folder, "grpc.sock")}, Options{CallerToken: callerToken}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			process, address, err := serve(append(row.flags, "--data", "data")...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stop(process) })
			row.options.Local = true
			client := connectTo(t, address, row.options)
			eventually(t, "the client follows", func() bool { return client.local.now() < client.local.memory.view.Load().until })
			if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed {
				t.Errorf("found %+v", answer)
			}
			if answer := check(t, client, balance(shared.secrets["owner"])); !answer.Allowed || answer.Response() != nil {
				t.Errorf("expected an answer from memory, found %+v", answer)
			}
		})
	}
}

func TestAReasonThatIsNotKnownDenies(t *testing.T) {
	for _, reason := range []portcullisv1.Reason{-1, 0, portcullisv1.Reason(reasonsEnd), 999} {
		answer := answerOf(&portcullisv1.CheckResponse{Allowed: true, Reason: reason}, &Question{})
		if answer.Allowed || answer.Reason != Unspecified || answer.Reason.String() != "UNSPECIFIED" {
			t.Errorf("%d: found %+v", reason, answer)
		}
	}
	if int(reasonsEnd) != len(portcullisv1.Reason_name) {
		t.Errorf("expected all %d reasons, found %d", len(portcullisv1.Reason_name), reasonsEnd)
	}
}
