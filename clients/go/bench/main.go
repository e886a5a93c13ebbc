// Command bench measures the client, and prints one line of JSON: how long a check takes, and the memory of a token.
// bench/suites/clients.ts starts it beside a sidecar, and says where in the environment: PORTCULLIS_GRPC_ADDRESS, CALLER_TOKEN (with
// the right to follow), TOKENS_FILE (a static token on each line, each of which opens the API balance), ACCOUNT, SECONDS (how long a
// measurement lasts), and OPERATOR_TOKEN, with which tokens are made and revoked, if it is set.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"portcullis.example/portcullis"
	portcullisv1 "portcullis.example/portcullis/gen/portcullis/v1"
)

type figures struct {
	Lookup      float64      `json:"lookup_ns"`
	LocalCheck  float64      `json:"local_check_ns"`
	GRPCCheck   float64      `json:"grpc_check_ns"`
	Bytes       float64      `json:"bytes_per_token"`
	FirstAnswer float64      `json:"first_local_answer_ms"`
	Allocations float64      `json:"allocations_per_check"`
	Revocation  *percentiles `json:"revocation_ms"`
}

type percentiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

var (
	address, account = os.Getenv("PORTCULLIS_GRPC_ADDRESS"), os.Getenv("ACCOUNT")
	target           = portcullis.Scope{Account: account}
	seconds          = time.Second
)

func main() {
	if text := os.Getenv("SECONDS"); text != "" {
		seconds = time.Duration(must(strconv.ParseFloat(text, 64)) * float64(time.Second))
	}
	tokens := strings.Fields(string(must(os.ReadFile(os.Getenv("TOKENS_FILE")))))
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(tokens))

	var measured figures
	measured.FirstAnswer = firstAnswer(tokens[0])
	local, asking := connect(true), connect(false)
	measured.Bytes = learn(local, tokens)
	measured.Lookup, measured.LocalCheck = compare(local, tokens, order)
	measured.GRPCCheck = overGRPC(asking, tokens, order)
	measured.Allocations = allocations(local, tokens)
	if token := os.Getenv("OPERATOR_TOKEN"); token != "" {
		measured.Revocation = revocations(local, token)
	}
	fmt.Println(string(must(json.Marshal(measured))))
}

// An error ends the program: there is nothing to measure.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func connect(isLocal bool) *portcullis.Client {
	return must(portcullis.Connect(address, portcullis.Options{CallerToken: os.Getenv("CALLER_TOKEN"), Local: isLocal}))
}

// Headers as net/http has them, with separate texts.
func request(token string) http.Header {
	headers := http.Header{}
	for name, value := range map[string]string{"Accept": "*/*", "User-Agent": "curl/8", "X-Request-Id": "1", "X-Token": token} {
		headers[strings.Clone(name)] = []string{strings.Clone(value)}
	}
	return headers
}

func check(client *portcullis.Client, headers http.Header) portcullis.Answer {
	return must(client.Check(context.Background(), &portcullis.Question{API: "balance", HTTP: headers, Target: &target, ClientAddress: "192.0.2.1"}))
}

func untilKnown(client *portcullis.Client, token string) {
	for answer := check(client, request(token)); answer.Response() != nil; answer = check(client, request(token)) {
	}
}

// From connecting until a token that was asked about once is answered from memory.
func firstAnswer(token string) float64 {
	var times []time.Duration
	for range 9 {
		began := time.Now()
		client := connect(true)
		untilKnown(client, token)
		times = append(times, time.Since(began))
		_ = client.Close()
	}
	return float64(median(times)) / float64(time.Millisecond)
}

// Asks about each token. It returns the bytes that the client keeps for one.
func learn(client *portcullis.Client, tokens []string) float64 {
	untilKnown(client, tokens[0])
	before := heap()
	for _, token := range tokens[1:] {
		check(client, request(token))
	}
	return float64(heap()-before) / float64(len(tokens)-1)
}

func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Measures take turns in slices of calls: other work of the machine slows both.
const slice = 100

// Nanoseconds of a look-up in a map, and of a check. They take turns, and go through the tokens in the same order.
func compare(client *portcullis.Client, tokens []string, order []int) (lookup, local float64) {
	next := map[string]int{}
	for place, index := range order {
		next[tokens[index]] = (place + 1) % len(order)
	}
	requests, values := make([]http.Header, len(order)), make([]string, len(order))
	for place, index := range order {
		requests[place], values[place] = request(tokens[index]), strings.Clone(tokens[index])
	}
	var lookups, checks []time.Duration
	place := 0
	for began := time.Now(); len(lookups) == 0 || time.Since(began) < 2*seconds; {
		for some := range slices.Chunk(requests, slice) {
			start := time.Now()
			// Each look-up says which one comes next, so that a processor cannot make several at a time: one request follows the other.
			for range some {
				place = next[values[place]]
			}
			between := time.Now()
			isLocal := true
			for _, headers := range some {
				answer := check(client, headers)
				if !answer.Allowed {
					panic("expected that each token opens the API")
				}
				isLocal = isLocal && answer.Response() == nil
			}
			// The machine may have been so busy that the client heard nothing for too long.
			if end := time.Now(); isLocal {
				checks = append(checks, end.Sub(between))
				lookups = append(lookups, between.Sub(start))
			}
		}
	}
	return float64(median(lookups)) / slice, float64(median(checks)) / slice
}

// Nanoseconds of a check that the sidecar answers.
func overGRPC(client *portcullis.Client, tokens []string, order []int) float64 {
	var times []time.Duration
	for began := time.Now(); len(times) == 0 || time.Since(began) < seconds; {
		headers := request(tokens[order[len(times)%len(order)]])
		start := time.Now()
		check(client, headers)
		times = append(times, time.Since(start))
	}
	return float64(median(times))
}

func allocations(client *portcullis.Client, tokens []string) float64 {
	headers, checks := request(tokens[0]), 10_000
	var before, after runtime.MemStats
	least := float64(checks)
	// Other goroutines allocate, too: they follow the sidecar.
	for range 5 {
		runtime.ReadMemStats(&before)
		for range checks {
			check(client, headers)
		}
		runtime.ReadMemStats(&after)
		least = min(least, float64(after.Mallocs-before.Mallocs)/float64(checks))
	}
	if least < 0.01 {
		return 0
	}
	return least
}

// How long a token that was revoked is still allowed, while it is checked all the time.
func revocations(client *portcullis.Client, operatorToken string) *percentiles {
	ctx := context.Background()
	operator := must(portcullis.Connect(address, portcullis.Options{CallerToken: operatorToken}))
	directory := portcullisv1.NewDirectoryServiceClient(operator.Connection())
	count := 100
	if seconds < time.Second {
		count = 3
	}
	var delays []time.Duration
	for number := range count {
		made := must(directory.CreateStaticToken(ctx, &portcullisv1.CreateStaticTokenRequest{
			Account: account, UserName: "owner", Name: fmt.Sprintf("go-%d-%d", os.Getpid(), number),
		}))
		untilKnown(client, made.GetValue())
		headers := request(made.GetValue())
		must(operator.Revoke(ctx, &portcullisv1.RevokeRequest{Token: &portcullisv1.RevokeRequest_Value{Value: made.GetValue()}}))
		began := time.Now()
		for answer := check(client, headers); answer.Allowed; answer = check(client, headers) {
			runtime.Gosched()
		}
		delays = append(delays, time.Since(began))
	}
	slices.Sort(delays)
	at := func(part int) float64 { return float64(delays[len(delays)*part/100]) / float64(time.Millisecond) }
	return &percentiles{P50: at(50), P99: at(99)}
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
