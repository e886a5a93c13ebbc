package portcullis

import (
	"context"
	"math/rand/v2"
	"net/http"
	"runtime"
	"testing"
)

// The gates: a local check beside one look-up of the token in a map, and beside the same check over gRPC.
//
//	go test -run '^$' -bench 'Lookup|Check' -benchmem .

func requests(b *testing.B) (headers []http.Header) {
	b.Helper()
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(shared.many))
	for _, index := range order {
		headers = append(headers, header("X-Token", shared.many[index]))
	}
	return headers
}

func BenchmarkLookupInAMap(b *testing.B) {
	headers, known := requests(b), map[string]*Token{}
	for _, value := range shared.many {
		known[value] = &Token{}
	}
	index := 0
	for b.Loop() {
		if known[headers[index]["X-Token"][0]] == nil {
			b.Fatal("expected a token")
		}
		if index++; index == len(headers) {
			index = 0
		}
	}
}

// As in a program, where one request follows the other: each look-up says which token comes next, so that a processor cannot make
// several at a time.
func BenchmarkLookupInAMapInTurn(b *testing.B) {
	headers, next := requests(b), map[string]int{}
	for index := range headers {
		next[headers[index]["X-Token"][0]] = (index + 1) % len(headers)
	}
	index := 0
	for b.Loop() {
		index = next[headers[index]["X-Token"][0]]
	}
}

func BenchmarkCheckLocal(b *testing.B) {
	client, _ := connectLocal(b, Options{})
	headers := requests(b)
	benchmarkCheck(b, client, headers)
}

func BenchmarkCheckOverGRPC(b *testing.B) {
	benchmarkCheck(b, connect(b, Options{}), requests(b)[:100])
}

func BenchmarkCheckLocalParallel(b *testing.B) {
	client, _ := connectLocal(b, Options{})
	headers := requests(b)
	for _, each := range headers {
		check(b, client, Question{API: "balance", HTTP: each})
	}
	b.ResetTimer()
	b.RunParallel(func(run *testing.PB) {
		for index := 0; run.Next(); index++ {
			if answer, err := client.Check(context.Background(), &Question{API: "balance", HTTP: headers[index%len(headers)]}); err != nil || !answer.Allowed {
				b.Fatal(answer, err)
			}
		}
	})
}

func benchmarkCheck(b *testing.B, client *Client, headers []http.Header) {
	ctx, target := context.Background(), &Scope{Account: account}
	for _, each := range headers {
		check(b, client, Question{API: "balance", HTTP: each, Target: target, ClientAddress: "192.0.2.1"})
	}
	b.ReportAllocs()
	index := 0
	for b.Loop() {
		answer, err := client.Check(ctx, &Question{API: "balance", HTTP: headers[index], Target: target, ClientAddress: "192.0.2.1"})
		if err != nil || !answer.Allowed {
			b.Fatal(answer, err)
		}
		if index++; index == len(headers) {
			index = 0
		}
	}
}

// Bytes of memory for each known token.
func BenchmarkMemoryOfATokenBytes(b *testing.B) {
	for b.Loop() {
		client, _ := connectLocal(b, Options{})
		before := heap()
		for _, value := range shared.many {
			check(b, client, balance(value))
		}
		b.ReportMetric(float64(heap()-before)/float64(len(shared.many)), "B/token")
		runtime.KeepAlive(client)
	}
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
