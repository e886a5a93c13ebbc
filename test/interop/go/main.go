// Calls the sidecar with the stubs that protoc-gen-go-grpc generated. The input is a line of JSON. The output has a line for
// each response, a line for the error if there is one, and a line for the end.
package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	// Imported so that the details of errors can be printed.
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	// Imported so that requests can be compressed.
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	portcullisv1 "portcullis.test/interop/gen/portcullis/v1"
)

// The input: the call, its requests, and its deadline.
type row struct {
	Call                 string            `json:"call"`
	Requests             []json.RawMessage `json:"requests"`
	Metadata             map[string]string `json:"metadata"`
	DeadlineMilliseconds int64             `json:"deadline_ms"`
	// The number of responses after which a stream is cancelled; 0: it is not cancelled.
	ResponsesMax int `json:"responses_max"`
	// The encoding of the requests; empty: none.
	Compression string `json:"compression"`
	// How often the call is made, all of them at once; 0: once. The first error and the responses of one of them are printed.
	AtOnce int `json:"at_once"`
	// Of a long CheckStream: its requests are sent again and again.
	Pace *pace `json:"pace"`
}

// How many questions on how many streams, how many may wait for their answers, and when a stream rests.
type pace struct {
	Count            int `json:"count"`
	Streams          int `json:"streams"`
	InFlight         int `json:"in_flight"`
	RestEvery        int `json:"rest_every"`
	RestMilliseconds int `json:"rest_ms"`
}

type line struct {
	Response json.RawMessage `json:"response,omitempty"`
	Error    *failure        `json:"error,omitempty"`
	End      bool            `json:"end,omitempty"`
}

type failure struct {
	Code    string            `json:"code"`
	Message string            `json:"message"`
	Details []json.RawMessage `json:"details"`
}

// Makes a call and passes each response to `each`, which returns whether to continue.
type caller func(ctx context.Context, question row, each func(proto.Message) bool) error

func main() {
	connection := connect()
	service := portcullisv1.NewAuthorizationServiceClient(connection)
	health := grpc_health_v1.NewHealthClient(connection)
	callers := map[string]caller{
		"AuthorizationService/Check":       unary(service.Check),
		"AuthorizationService/CheckBatch":  unary(service.CheckBatch),
		"AuthorizationService/CheckStream": bidirectional(service.CheckStream),
		"AuthorizationService/Issue":       unary(service.Issue),
		"AuthorizationService/Revoke":      unary(service.Revoke),
		"AuthorizationService/Plan":        unary(service.Plan),
		"AuthorizationService/GetMatrix":   unary(service.GetMatrix),
		"AuthorizationService/WatchMatrix": serverStream(service.WatchMatrix),
		"Health/Check":                     unary(health.Check),
		"Health/Watch":                     serverStream(health.Watch),
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		text, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		must(err)
		var question row
		must(json.Unmarshal(text, &question))
		call := callers[question.Call]
		if question.Pace != nil {
			call = pacedStreams(service)
			if question.Call == "AuthorizationService/Check" {
				call = pacedCalls(service)
			}
		}
		ask(call, question)
	}
}

func ask(call caller, question row) {
	deadline := time.Duration(question.DeadlineMilliseconds) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	ctx = metadata.NewOutgoingContext(ctx, sent(question.Metadata))
	number := 0
	errs := make(chan error)
	for range question.AtOnce - 1 {
		go func() { errs <- call(ctx, question, func(proto.Message) bool { return true }) }()
	}
	err := call(ctx, question, func(response proto.Message) bool {
		write(line{Response: toJSON(response)})
		number++
		return number != question.ResponsesMax
	})
	for range question.AtOnce - 1 {
		err = cmp.Or(err, <-errs)
	}
	if err != nil {
		write(line{Error: describe(err)})
	}
	write(line{End: true})
}

// The metadata as gRPC takes it: binary values come as base64.
func sent(values map[string]string) metadata.MD {
	found := metadata.MD{}
	for name, value := range values {
		if strings.HasSuffix(name, "-bin") {
			bytes, err := base64.StdEncoding.DecodeString(value)
			must(err)
			value = string(bytes)
		}
		found.Set(name, value)
	}
	return found
}

func (question row) options() []grpc.CallOption {
	if question.Compression == "" {
		return nil
	}
	return []grpc.CallOption{grpc.UseCompressor(question.Compression)}
}

func write(printed line) {
	text, err := json.Marshal(printed)
	must(err)
	fmt.Println(string(text))
}

func describe(err error) *failure {
	found := status.Convert(err).Proto()
	details := []json.RawMessage{}
	for _, detail := range found.Details {
		details = append(details, toJSON(detail))
	}
	return &failure{code.Code(found.Code).String(), found.Message, details}
}

// A pointer to a generated message type.
type message[T any] interface {
	*T
	proto.Message
}

func unary[T any, Request message[T], Response proto.Message](
	call func(context.Context, Request, ...grpc.CallOption) (Response, error),
) caller {
	return func(ctx context.Context, question row, each func(proto.Message) bool) error {
		response, err := call(ctx, fromJSON[T, Request](question.Requests[0]), question.options()...)
		if err == nil {
			each(response)
		}
		return err
	}
}

func serverStream[T any, Request message[T], U any, Response message[U]](
	call func(context.Context, Request, ...grpc.CallOption) (grpc.ServerStreamingClient[U], error),
) caller {
	return func(ctx context.Context, question row, each func(proto.Message) bool) error {
		stream, err := call(ctx, fromJSON[T, Request](question.Requests[0]), question.options()...)
		if err != nil {
			return err
		}
		return receive[U, Response](stream.Recv, each)
	}
}

func bidirectional[T any, Request message[T], U any, Response message[U]](
	call func(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[T, U], error),
) caller {
	return func(ctx context.Context, question row, each func(proto.Message) bool) error {
		stream, err := call(ctx, question.options()...)
		if err != nil {
			return err
		}
		go func() {
			for _, request := range question.Requests {
				// If the stream has failed, reading from it returns the error.
				if stream.Send(fromJSON[T, Request](request)) != nil {
					return
				}
			}
			stream.CloseSend()
		}()
		return receive[U, Response](stream.Recv, each)
	}
}

func pacedStreams(service portcullisv1.AuthorizationServiceClient) caller {
	return paced(func(ctx context.Context, requests []*portcullisv1.CheckStreamRequest, pace pace, tally func(string)) error {
		return askForLong(ctx, service, requests, pace, tally)
	})
}

// Each question is a separate call.
func pacedCalls(service portcullisv1.AuthorizationServiceClient) caller {
	return paced(func(ctx context.Context, requests []*portcullisv1.CheckRequest, pace pace, tally func(string)) error {
		for index := range pace.Count {
			response, err := service.Check(ctx, requests[index%len(requests)])
			if err != nil {
				return err
			}
			tally(fmt.Sprintf("%d %t", index%len(requests), response.GetAllowed()))
		}
		return nil
	})
}

// Asks for long, several at once, and passes on how often it got which answer.
func paced[T any, Request message[T]](
	ask func(context.Context, []Request, pace, func(string)) error,
) caller {
	return func(ctx context.Context, question row, each func(proto.Message) bool) error {
		var requests []Request
		for _, request := range question.Requests {
			requests = append(requests, fromJSON[T, Request](request))
		}
		tallies := map[string]any{}
		var mutex sync.Mutex
		tally := func(key string) {
			mutex.Lock()
			defer mutex.Unlock()
			count, _ := tallies[key].(float64)
			tallies[key] = count + 1
		}
		ended := make(chan error)
		for range question.Pace.Streams {
			go func() { ended <- ask(ctx, requests, *question.Pace, tally) }()
		}
		var err error
		for range question.Pace.Streams {
			err = errors.Join(err, <-ended)
		}
		printed, _ := structpb.NewStruct(tallies)
		each(printed)
		return err
	}
}

func askForLong(
	ctx context.Context,
	service portcullisv1.AuthorizationServiceClient,
	requests []*portcullisv1.CheckStreamRequest,
	pace pace,
	tally func(string),
) error {
	stream, err := service.CheckStream(ctx)
	if err != nil {
		return err
	}
	waiting := make(chan struct{}, pace.InFlight)
	go func() {
		for index := range pace.Count {
			select {
			case waiting <- struct{}{}:
			case <-stream.Context().Done():
				return
			}
			if stream.Send(requests[index%len(requests)]) != nil {
				return
			}
		}
		stream.CloseSend()
	}()
	for index := 0; ; index++ {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if response.GetId() == requests[index%len(requests)].GetId() {
			tally(fmt.Sprintf("%s %t", response.GetId(), response.GetResult().GetAllowed()))
		} else {
			tally("out of order")
		}
		if pace.RestEvery > 0 && (index+1)%pace.RestEvery == 0 {
			time.Sleep(time.Duration(pace.RestMilliseconds) * time.Millisecond)
		}
		<-waiting
	}
}

func receive[U any, Response message[U]](next func() (*U, error), each func(proto.Message) bool) error {
	for {
		response, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !each(Response(response)) {
			return nil
		}
	}
}

func fromJSON[T any, Request message[T]](text json.RawMessage) Request {
	request := Request(new(T))
	must(protojson.Unmarshal(text, request))
	return request
}

func toJSON(response proto.Message) json.RawMessage {
	text, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(response)
	must(err)
	return text
}

func connect() *grpc.ClientConn {
	address := flag.String("address", "", "where the sidecar listens")
	ca := flag.String("ca", "", "certificates that sign the sidecar's")
	certificate := flag.String("certificate", "", "the client's certificate")
	key := flag.String("key", "", "the client's private key")
	flag.Parse()
	transport := insecure.NewCredentials()
	if *ca != "" {
		pem, err := os.ReadFile(*ca)
		must(err)
		config := &tls.Config{RootCAs: x509.NewCertPool()}
		config.RootCAs.AppendCertsFromPEM(pem)
		if *key != "" {
			pair, err := tls.LoadX509KeyPair(*certificate, *key)
			must(err)
			config.Certificates = []tls.Certificate{pair}
		}
		transport = credentials.NewTLS(config)
	}
	connection, err := grpc.NewClient(*address, grpc.WithTransportCredentials(transport))
	must(err)
	return connection
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
