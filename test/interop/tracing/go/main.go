// An endpoint as the OpenTelemetry Collector has it: what it gets is decoded by the Collector's own decoder. It prints each span as a line
// of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

type span struct {
	Name         string         `json:"name"`
	Kind         string         `json:"kind"`
	TraceID      string         `json:"traceId"`
	SpanID       string         `json:"spanId"`
	ParentSpanID string         `json:"parentSpanId"`
	TraceState   string         `json:"traceState"`
	Status       string         `json:"status"`
	Attributes   map[string]any `json:"attributes"`
	Resource     map[string]any `json:"resource"`
	Nanoseconds  int64          `json:"nanoseconds"`
}

func receive(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	export := ptraceotlp.NewExportRequest()
	if err := export.UnmarshalJSON(body); err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	for _, resource := range export.Traces().ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, each := range scope.Spans().All() {
				line, err := json.Marshal(span{
					Name: each.Name(), Kind: each.Kind().String(), Status: each.Status().Code().String(),
					TraceID: each.TraceID().String(), SpanID: each.SpanID().String(),
					ParentSpanID: each.ParentSpanID().String(), TraceState: each.TraceState().AsRaw(),
					Attributes: each.Attributes().AsRaw(), Resource: resource.Resource().Attributes().AsRaw(),
					Nanoseconds: int64(each.EndTimestamp() - each.StartTimestamp()),
				})
				if err != nil {
					panic(err)
				}
				fmt.Println(string(line))
			}
		}
	}
	response.Header().Set("Content-Type", "application/json")
	fmt.Fprint(response, "{}")
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	panic(http.Serve(listener, http.HandlerFunc(receive)))
}
