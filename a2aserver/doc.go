// Package a2aserver hosts agents: it executes them over the event log, and serves their
// events over A2A's JSON-RPC, HTTP+JSON and gRPC, and to callers in the process. A [Host] starts
// runs, commits every event before it sends it, resumes the runs of hosts that died, and
// releases its own when it stops.
//
// The host checks requests and knows no binding. JSON-RPC (jsonrpc*.go) is a layer over it
// that sends events as they are stored; HTTP+JSON (httpjson.go), gRPC (grpc.go) and A2A 0.3
// (legacy.go) use its methods.
//
// What needs no host is in packages below: events and tasks as JSON (a2ajson), params of
// methods (params), requests and errors of JSON-RPC (jsonrpc), the parts that a client accepts
// (modes) and push notifications (push).
//
// The agent decides what it answers, its [Projection] what readers of runs see, and the log
// who may read what.
package a2aserver
