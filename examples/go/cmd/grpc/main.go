// A gRPC service behind the gate. It is the standard health service, so that this example needs no proto of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"portcullis.example/guard/gate"
	portcullisv1 "portcullis.example/guard/gen/portcullis/v1"
)

func main() {
	connection, err := grpc.NewClient(or("PORTCULLIS_GRPC_ADDRESS", "127.0.0.1:50051"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	guard := &gate.Gate{Client: portcullisv1.NewAuthorizationServiceClient(connection)}
	rules := gate.Rules{
		APIs: map[string]string{
			"/grpc.health.v1.Health/Check": "balance",
			"/grpc.health.v1.Health/Watch": "balance",
		},
		AccountOf: func(ctx context.Context, _ string) string {
			incoming, _ := metadata.FromIncomingContext(ctx)
			if accounts := incoming.Get("account"); len(accounts) == 1 {
				return accounts[0]
			}
			return ""
		},
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(guard.Unary(rules)), grpc.StreamInterceptor(guard.Stream(rules)))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())

	listener, err := net.Listen("tcp", "127.0.0.1:"+or("PORT", "3000"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on 127.0.0.1, port:", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}

func or(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}
