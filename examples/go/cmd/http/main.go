// A service whose requests pass if their token opens the API: `/accounts/787613/balance` belongs to account 787613.
package main

import (
	"cmp"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"portcullis.example/portcullis"
)

func main() {
	client, err := portcullis.Connect("", portcullis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	accountOf := func(request *http.Request) portcullis.Scope {
		return portcullis.Scope{Account: request.PathValue("account")}
	}
	balance := http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		log.Print("asked by ", portcullis.TokenOf(request.Context()).Subject.Name)
		fmt.Fprintln(response, `{"balance": 42}`)
	})
	guard := portcullis.Guard{Client: client, API: "balance", Target: accountOf}
	http.Handle("GET /accounts/{account}/balance", guard.Handler(balance))

	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on 127.0.0.1, port:", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
