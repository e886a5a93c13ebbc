package portcullis

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"
)

// Checks of many goroutines at a time. The program in bench measures the cost of one check.
//
//	go test -run '^$' -bench . -benchmem .

func requests(b *testing.B) (headers []http.Header) {
	b.Helper()
	order := rand.New(rand.NewPCG(1, 2)).Perm(len(shared.many))
	for _, index := range order {
		headers = append(headers, header("X-Token", shared.many[index]))
	}
	return headers
}

// The same by the routes: the API and the target are found in the path.
func BenchmarkCheckLocalByTheRoutes(b *testing.B) {
	client, _ := connectLocal(b, Options{})
	headers, ctx := requests(b), context.Background()
	request := &Request{Method: http.MethodGet, Host: "api.example.com", Path: "/accounts/" + account + "/balance"}
	index := 0
	for range 2 * len(headers) {
		check(b, client, Question{Request: request, HTTP: headers[index]})
		index = (index + 1) % len(headers)
	}
	for b.Loop() {
		if answer, err := client.Check(ctx, &Question{Request: request, HTTP: headers[index]}); err != nil || !answer.Allowed {
			b.Fatal(answer, err)
		}
		index = (index + 1) % len(headers)
	}
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
