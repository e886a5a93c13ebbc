module portcullis.example/guard

go 1.26.0

require (
	google.golang.org/grpc v1.85.0
	portcullis.example/portcullis v0.0.0
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

// The client of this checkout. A program of your own names a version instead.
replace portcullis.example/portcullis => ../../clients/go
