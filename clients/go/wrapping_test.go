package portcullis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The acts of a method with its call. Each is named in the request.
var acts = map[string]func(ctx context.Context) error{
	"answers": func(context.Context) error { return nil },
	"refuses": func(context.Context) error {
		refused, _ := status.New(codes.PermissionDenied, "not yours").WithDetails(&errdetails.ErrorInfo{Reason: "OWN"})
		return refused.Err()
	},
	"refuses with trailers": func(ctx context.Context) error {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-own", "trailer"))
		return status.Error(codes.NotFound, "there is none")
	},
	"sends metadata": func(ctx context.Context) error {
		return errors.Join(grpc.SetTrailer(ctx, metadata.Pairs("x-own", "trailer")), grpc.SendHeader(ctx, metadata.Pairs("x-own", "header")))
	},
	"says what it was sent": func(ctx context.Context) error {
		method, _ := grpc.Method(ctx)
		return grpc.SetTrailer(ctx, metadata.Pairs("x-own", strings.Join(metadata.ValueFromIncomingContext(ctx, "x-sent"), ","), "x-method", method))
	},
	"knows its deadline": func(ctx context.Context) error {
		deadline, isKnown := ctx.Deadline()
		return grpc.SetTrailer(ctx, metadata.Pairs("x-own", fmt.Sprint(isKnown && time.Until(deadline) <= time.Minute)))
	},
	"fails":           func(context.Context) error { return errors.New("the records do not answer") },
	"fails by a wait": func(context.Context) error { return context.DeadlineExceeded },
}

var kindsOfCalls = []grpc.StreamDesc{
	{StreamName: "Unary"},
	{StreamName: "Up", ClientStreams: true},
	{StreamName: "Down", ServerStreams: true},
	{StreamName: "Both", ClientStreams: true, ServerStreams: true},
}

// A method of each kind. A response precedes what a stream does, unless that sends headers.
func serviceOfAllKinds(seen func(context.Context)) *grpc.ServiceDesc {
	act := func(ctx context.Context, name string) error {
		seen(ctx)
		return acts[name](ctx)
	}
	service := &grpc.ServiceDesc{ServiceName: "test.Service", HandlerType: (*any)(nil)}
	service.Methods = []grpc.MethodDesc{{
		MethodName: "Unary",
		Handler: func(server any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
			asked := new(wrapperspb.StringValue)
			if err := decode(asked); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, asked any) (any, error) {
				return wrapperspb.String("done"), act(ctx, asked.(*wrapperspb.StringValue).GetValue())
			}
			if interceptor == nil {
				return handle(ctx, asked)
			}
			return interceptor(ctx, asked, &grpc.UnaryServerInfo{Server: server, FullMethod: "/test.Service/Unary"}, handle)
		},
	}}
	for _, kind := range kindsOfCalls[1:] {
		kind.Handler = func(_ any, stream grpc.ServerStream) error {
			asked := new(wrapperspb.StringValue)
			if err := stream.RecvMsg(asked); err != nil {
				return err
			}
			if kind.ServerStreams && asked.GetValue() != "sends metadata" {
				_ = stream.SendMsg(wrapperspb.String("begun"))
			}
			if err := act(stream.Context(), asked.GetValue()); err != nil {
				return err
			}
			return stream.SendMsg(wrapperspb.String("done"))
		}
		service.Streams = append(service.Streams, kind)
	}
	return service
}

func serveAllKinds(t *testing.T, seen func(context.Context), options ...grpc.ServerOption) *grpc.ClientConn {
	server := grpc.NewServer(options...)
	server.RegisterService(serviceOfAllKinds(seen), nil)
	return serveCalls(t, server)
}

// All that a client sees of a call.
func outcomeOf(t *testing.T, connection *grpc.ClientConn, kind grpc.StreamDesc, name string) []string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-token", shared.secrets["owner"], "x-sent", "by the client")
	stream, err := connection.NewStream(ctx, &kind, "/test.Service/"+kind.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.SendMsg(wrapperspb.String(name))
	_ = stream.CloseSend()
	var told []string
	for {
		response := new(wrapperspb.StringValue)
		if err = stream.RecvMsg(response); err != nil {
			break
		}
		told = append(told, response.GetValue())
	}
	if err != io.EOF {
		told = append(told, status.Code(err).String(), status.Convert(err).Message(), fmt.Sprint(status.Convert(err).Details()))
	}
	header, _ := stream.Header()
	for _, each := range []metadata.MD{header, stream.Trailer()} {
		told = append(told, fmt.Sprint("own: ", each["x-own"], each["x-method"]))
	}
	return told
}

func TestACallThatPassesIsNotChanged(t *testing.T) {
	bare := serveAllKinds(t, func(context.Context) {})
	guard := CallGuard{Client: connect(t, Options{}), APIs: map[string]string{}}
	for _, kind := range kindsOfCalls {
		guard.APIs["/test.Service/"+kind.StreamName] = "balance"
	}
	calls := 0
	seen := func(ctx context.Context) {
		calls++
		if token := TokenOf(ctx); token == nil || token.Subject.Name != "owner" {
			t.Errorf("found %+v", token)
		}
	}
	guarded := serveAllKinds(t, seen, grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
	for _, kind := range kindsOfCalls {
		for name := range acts {
			expected, found := outcomeOf(t, bare, kind, name), outcomeOf(t, guarded, kind, name)
			if !reflect.DeepEqual(expected, found) {
				t.Errorf("%s %s: expected %q, found %q", kind.StreamName, name, expected, found)
			}
		}
	}
	if calls != len(kindsOfCalls)*len(acts) {
		t.Errorf("the methods were called %d times", calls)
	}
}

func TestACallThatIsCancelledEndsItsMethod(t *testing.T) {
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	acts["waits"] = func(ctx context.Context) error {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	}
	defer delete(acts, "waits")
	guard := CallGuard{Client: connect(t, Options{}), APIs: map[string]string{"/test.Service/Unary": "balance", "/test.Service/Both": "balance"}}
	connection := serveAllKinds(t, func(context.Context) {}, grpc.UnaryInterceptor(guard.Unary), grpc.StreamInterceptor(guard.Stream))
	for _, kind := range []grpc.StreamDesc{kindsOfCalls[0], kindsOfCalls[3]} {
		ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(t.Context(), "x-token", shared.secrets["owner"]))
		stream, err := connection.NewStream(ctx, &kind, "/test.Service/"+kind.StreamName)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.SendMsg(wrapperspb.String("waits"))
		<-begun
		cancel()
		<-ended
	}
}

// A request that passes, as a handler, its server and the code around its guard see it.
func TestARequestThatPassesIsNotChanged(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	handlers := map[string]http.HandlerFunc{
		"answers": func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("X-Own", "header")
			response.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(response, "served")
		},
		"streams with trailers": func(response http.ResponseWriter, _ *http.Request) {
			response.Header().Set("Trailer", "X-Own")
			_, _ = io.WriteString(response, "first")
			response.(http.Flusher).Flush()
			_, _ = io.WriteString(response, "second")
			response.Header().Set("X-Own", "trailer")
		},
		"takes the connection": func(response http.ResponseWriter, _ *http.Request) {
			connection, _, err := response.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, "HTTP/1.1 299 Own\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			_ = connection.Close()
		},
		"aborts": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"reads an upload": func(response http.ResponseWriter, request *http.Request) {
			if err := request.ParseMultipartForm(1); err != nil {
				t.Error(err)
			}
			kept, _ := os.ReadDir(folder)
			fmt.Fprint(response, len(kept), request.PathValue("name"), len(request.MultipartForm.File))
		},
	}
	// The function beside the server waits for the handler, and returns the pattern.
	serve := func(wrap func(http.Handler) http.Handler) (*httptest.Server, func() string) {
		mux := http.NewServeMux()
		mux.HandleFunc("/{name...}", func(response http.ResponseWriter, request *http.Request) {
			handlers[request.PathValue("name")](response, request)
		})
		handler, pattern := wrap(mux), make(chan string, 1)
		server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
			defer func() { pattern <- request.Pattern }()
			handler.ServeHTTP(response, request)
		}))
		server.Config.ErrorLog = nil
		return server, func() string { return <-pattern }
	}
	outcome := func(wrap func(http.Handler) http.Handler, name string) []string {
		server, pattern := serve(wrap)
		var body strings.Builder
		form := multipart.NewWriter(&body)
		if name == "reads an upload" {
			part, _ := form.CreateFormFile("file", "name")
			// More than is kept in memory.
			_, _ = io.WriteString(part, strings.Repeat("long ", 5_000_000))
			_ = form.Close()
		}
		request, _ := http.NewRequest(http.MethodPost, server.URL+"/"+name, strings.NewReader(body.String()))
		request.Header.Set("Content-Type", form.FormDataContentType())
		request.Header.Set("X-Token", shared.secrets["owner"])
		response, err := http.DefaultClient.Do(request)
		told := []string{fmt.Sprint(err != nil)}
		if err == nil {
			read, err := io.ReadAll(response.Body)
			told = append(told, response.Status, string(read), fmt.Sprint(err), response.Header.Get("X-Own"), response.Trailer.Get("X-Own"))
		}
		// A connection that the handler took is not waited for.
		told = append(told, pattern())
		server.Close()
		kept, _ := os.ReadDir(folder)
		return append(told, fmt.Sprint(len(kept), " files are left"))
	}
	guard := Guard{Client: connect(t, Options{}), API: "balance"}
	for name := range handlers {
		expected := outcome(func(handler http.Handler) http.Handler { return handler }, name)
		if found := outcome(guard.Handler, name); !reflect.DeepEqual(expected, found) {
			t.Errorf("%s: expected %q, found %q", name, expected, found)
		}
	}
}
