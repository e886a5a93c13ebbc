// A service of gRPC whose calls pass if their token opens the API. It is the standard health service, so that this example needs
// no separate proto.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"portcullis.example/portcullis"
)

func main() {
	client, err := portcullis.Connect("", portcullis.Options{})
	if err != nil {
		log.Fatal(err)
	}
	guard := portcullis.CallGuard{
		Client: client,
		APIs: map[string]string{
			"/grpc.health.v1.Health/Check": "balance",
			"/grpc.health.v1.Health/Watch": "balance",
		},
		Target: func(ctx context.Context, _ string, _ any) (target portcullis.Scope) {
			incoming, _ := metadata.FromIncomingContext(ctx)
			if accounts := incoming.Get("account"); len(accounts) == 1 {
				target.Account = accounts[0]
			}
			return target
		},
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())

	listener, err := net.Listen("tcp", "127.0.0.1:"+cmp.Or(os.Getenv("PORT"), "3000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on 127.0.0.1, port:", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
