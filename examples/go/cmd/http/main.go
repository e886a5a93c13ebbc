// A service behind the gate: `/accounts/787613/balance` belongs to account 787613.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"portcullis.example/guard/gate"
	portcullisv1 "portcullis.example/guard/gen/portcullis/v1"
)

func main() {
	connection, err := grpc.NewClient(or("PORTCULLIS_GRPC_ADDRESS", "127.0.0.1:50051"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	guard := &gate.Gate{Client: portcullisv1.NewAuthorizationServiceClient(connection)}
	balance := http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(response, `{"balance": 42}`)
	})
	accountOf := func(request *http.Request) string { return request.PathValue("account") }
	http.Handle("GET /accounts/{account}/balance", guard.RequireToken("balance", accountOf, balance))

	listener, err := net.Listen("tcp", "127.0.0.1:"+or("PORT", "3000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on 127.0.0.1, port:", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}

func or(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}
