package gate

import (
	"context"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Rules say which API each method belongs to, and whose resources it asks for. A method that they do not name is refused.
type Rules struct {
	// APIs by full method: "/grpc.health.v1.Health/Check".
	APIs map[string]string
	// AccountOf names the account that owns the requested resource.
	AccountOf func(ctx context.Context, method string) string
}

// Unary returns an interceptor for calls.
func (g *Gate) Unary(rules Rules) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if err := g.admit(ctx, rules, info.FullMethod); err != nil {
			return nil, err
		}
		return handle(ctx, request)
	}
}

// Stream returns an interceptor for streams. It asks once, at the beginning.
func (g *Gate) Stream(rules Rules) grpc.StreamServerInterceptor {
	return func(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		if err := g.admit(stream.Context(), rules, info.FullMethod); err != nil {
			return err
		}
		return handle(server, stream)
	}
}

// The context of a call ends when its client leaves or cancels.
func (g *Gate) admit(ctx context.Context, rules Rules, method string) error {
	api, known := rules.APIs[method]
	if !known {
		return status.Error(codes.PermissionDenied, "no API is known for this method")
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	address := ""
	if sender, found := peer.FromContext(ctx); found {
		address, _, _ = net.SplitHostPort(sender.Addr.String())
	}
	refused := g.refusal(ctx, api, rules.AccountOf(ctx, method), address, incoming.Get)
	if refused == nil {
		return nil
	}
	code := codes.PermissionDenied
	switch refused.status {
	case 401:
		code = codes.Unauthenticated
	case 503:
		code = codes.Unavailable
	}
	return status.Error(code, refused.detail.Reason+": "+refused.detail.Message)
}
