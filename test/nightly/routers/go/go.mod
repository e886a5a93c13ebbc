module portcullis.example/routers

go 1.26.0

require (
	github.com/go-chi/chi/v5 v5.2.3
	portcullis.example/portcullis v0.0.0
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace portcullis.example/portcullis => ../../../../clients/go
