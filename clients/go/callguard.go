package portcullis

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// CallGuard lets calls of a server of gRPC pass whose token opens an API. It answers the others itself: UNAUTHENTICATED or
// PERMISSION_DENIED, and UNAVAILABLE where there is no answer.
//
//	grpc.NewServer(grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
type CallGuard struct {
	// Client that is asked. Required.
	Client *Client
	// APIs by full method: "/grpc.health.v1.Health/Check". A method that is not among them is denied.
	APIs map[string]string
	// Routes takes the place of APIs and Target: the routes of the sidecar say them. A call is a request with the method POST, the host in
	// :authority and the full method as its path.
	Routes bool
	// Target returns the account, and the project if any, that owns the requested resource. The request is nil for a stream. A call for
	// which it returns no account is denied. Nil: only the matrix decides.
	Target func(ctx context.Context, method string, request any) Scope
	// ClientAddress returns the IP address of the sender. Nil: the one of the connection.
	ClientAddress func(ctx context.Context) string
	// HideOthers answers NOT_FOUND where the resource belongs to others.
	HideOthers bool
	// OnFailure is called as that of a Guard. The guard starts with its first call.
	OnFailure func(error)
}

var errRoutes = errors.New("portcullis: CallGuard: expected neither APIs nor Target, because the routes say them")

// Unary is a grpc.UnaryServerInterceptor.
func (g CallGuard) Unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, denied := g.judge(ctx, info.FullMethod, request)
	if denied != nil {
		return nil, denied.call()
	}
	return handle(withAnswer(ctx, answer), request)
}

// Stream is a grpc.StreamServerInterceptor. It asks once, at the beginning of the stream.
func (g CallGuard) Stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	answer, denied := g.judge(stream.Context(), info.FullMethod, nil)
	if denied != nil {
		return denied.call()
	}
	return handle(server, answeredStream{stream, withAnswer(stream.Context(), answer)})
}

// A stream whose context has the answer.
type answeredStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s answeredStream) Context() context.Context { return s.ctx }

func (g CallGuard) judge(ctx context.Context, method string, request any) (Answer, *denial) {
	api := g.APIs[method]
	if g.Routes && (g.APIs != nil || g.Target != nil) {
		return Answer{}, g.Client.failed(errRoutes, g.OnFailure)
	}
	if api == "" && !g.Routes {
		return Answer{}, apiNotFound
	}
	if api != "" && !g.Client.guarded.isIn(&g.Client.guarded.sought, api) {
		// An interceptor starts with its first call.
		g.Client.seek(g.OnFailure, slices.Sorted(maps.Values(g.APIs))...)
	}
	incoming, _ := metadata.FromIncomingContext(ctx)
	if incoming == nil {
		incoming = metadata.MD{}
	}
	question := Question{API: api, Metadata: incoming}
	if g.Routes {
		question.Request = &Request{Method: http.MethodPost, Host: strings.Join(incoming.Get(":authority"), ","), Path: method}
	}
	var target Scope
	if g.Target != nil {
		if target = g.Target(ctx, method, request); target.Account == "" {
			return Answer{}, targetNotFound
		}
		question.Target = &target
	}
	if g.ClientAddress != nil {
		question.ClientAddress = g.ClientAddress(ctx)
	} else if sender, isKnown := peer.FromContext(ctx); isKnown {
		question.ClientAddress = hostOf(sender.Addr.String())
	}
	answer, denied := g.Client.judge(ctx, &question, g.HideOthers, g.OnFailure)
	if api != "" && answer.Reason == UnknownAPI {
		g.Client.denyUnknown(api, g.OnFailure)
	}
	return answer, denied
}

// The error of a call.
func (d *denial) call() error {
	code := codes.PermissionDenied
	switch d.status {
	case http.StatusUnauthorized:
		code = codes.Unauthenticated
	case http.StatusNotFound:
		code = codes.NotFound
	case http.StatusServiceUnavailable:
		code = codes.Unavailable
	case http.StatusInternalServerError:
		code = codes.Internal
	}
	denied := status.New(code, d.reason+": "+d.message)
	if detailed, err := denied.WithDetails(&errdetails.ErrorInfo{Reason: d.reason, Domain: "portcullis"}); err == nil {
		denied = detailed
	}
	return denied.Err()
}
