// Routers of Go behind the guard by routes. Each handler says which route it is for, and which API the guard found.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/go-chi/chi/v5"
	portcullis "portcullis.example/portcullis"
)

type route struct {
	Host    string   `json:"host"`
	Path    string   `json:"path"`
	Methods []string `json:"methods"`
	API     string   `json:"api"`
}

func (r route) handler() http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		found := ""
		if answer := portcullis.AnswerOf(request.Context()); answer != nil && answer.Route() != nil {
			found = answer.Route().API
		}
		response.Header().Set("X-Handler", r.API)
		response.Header().Set("X-Found", found)
	}
}

func main() {
	var table []route
	if err := json.Unmarshal([]byte(os.Getenv("ROUTERS_TABLE")), &table); err != nil {
		log.Fatal(err)
	}
	client, err := portcullis.Connect(os.Getenv("ROUTERS_SIDECAR"), portcullis.Options{CallerToken: os.Getenv("ROUTERS_CALLER_TOKEN"), Local: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	serve := func(name string, router http.Handler) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		go func() {
			log.Fatal(http.Serve(listener, portcullis.Guard{Client: client, Routes: true}.Handler(router)))
		}()
		fmt.Printf("%s http://%s\n", name, listener.Addr())
	}
	serve("ServeMux", serveMux(table))
	serve("chi", chiRouter(table))
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Every pattern with a slash at its end is for all that is below, and GET brings HEAD.
func serveMux(table []route) http.Handler {
	mux := http.NewServeMux()
	for _, each := range table {
		if strings.Contains(each.Path, "_{") {
			// A name is a whole segment here.
			continue
		}
		for _, method := range each.orAny() {
			mux.Handle(method+each.Host+each.Path, each.handler())
		}
	}
	return mux
}

// Methods with a blank behind each; an empty text is any.
func (r route) orAny() []string {
	if len(r.Methods) == 0 {
		return []string{""}
	}
	var texts []string
	for _, method := range r.Methods {
		texts = append(texts, method+" ")
	}
	return texts
}

func chiRouter(table []route) http.Handler {
	router := chi.NewRouter()
	for _, each := range table {
		if each.Host != "" {
			continue
		}
		path := each.Path
		if strings.HasSuffix(path, "/") {
			path += "*"
		}
		if len(each.Methods) == 0 {
			router.Handle(path, each.handler())
		}
		for _, method := range each.Methods {
			router.Method(method, path, each.handler())
		}
	}
	return router
}
