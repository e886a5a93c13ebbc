package portcullis_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"portcullis.example/portcullis"
)

// The tests have started a sidecar, and stand in a folder with the file of a caller token.

func Example() {
	client, err := portcullis.Connect("", portcullis.Options{CallerTokenFile: "caller.token", Local: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	accountOf := func(request *http.Request) portcullis.Scope {
		return portcullis.Scope{Account: request.PathValue("account")}
	}
	balance := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		fmt.Fprintln(response, "asked by", portcullis.TokenOf(request.Context()).Subject.Name)
	})
	guard := portcullis.Guard{Client: client, API: "balance", Target: accountOf}
	http.Handle("GET /accounts/{account}/balance", guard.Handler(balance))
	server := httptest.NewServer(http.DefaultServeMux)
	defer server.Close()

	reports := &http.Client{Transport: &portcullis.Transport{Client: client, Profile: "job", APIs: []string{"balance"}}}
	for _, account := range []string{"123456", "654321"} {
		response, err := reports.Get(server.URL + "/accounts/" + account + "/balance")
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		fmt.Print(response.StatusCode, " ", strings.SplitAfter(string(body), ",")[0], "\n")
	}
	// Output:
	// 200 asked by account
	//
	// 403 {"error":{"reason":"ACCOUNT_MISMATCH",
}

func ExampleCallGuard() {
	client, err := portcullis.Connect("", portcullis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	calls := portcullis.CallGuard{Client: client, APIs: map[string]string{"/grpc.health.v1.Health/Check": "balance"}}
	server :=
		grpc.NewServer(grpc.UnaryInterceptor(calls.Unary), grpc.StreamInterceptor(calls.Stream))
	server.Stop()
}

func ExampleClient_Check() {
	client, err := portcullis.Connect("", portcullis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	answer, err := client.Check(context.Background(), &portcullis.Question{
		API:    "reports",
		Claims: &portcullis.Claims{Kind: "static_token", Scope: portcullis.Scope{Account: "123456"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Allowed, answer.Message())
	// Output: true `reports` accepts a static token in `X-Token`
}

// A reader can copy each line of Go in the README, because it is one of a test above.
func TestTheReadmeShowsWhatTheTestsRun(t *testing.T) {
	folder := os.Getenv("PORTCULLIS_TEST_PACKAGE")
	readme, err := os.ReadFile(folder + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile(folder + "/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) < 4 {
		t.Errorf("expected blocks of Go, found %d", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(code) {
			if !strings.Contains(string(ours), "\t"+line) {
				t.Errorf("expected a test with %s", line)
			}
		}
	}
}
