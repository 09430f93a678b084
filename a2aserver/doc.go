// Package a2aserver hosts agents: it executes them over the event log, and serves their
// events over A2A's JSON-RPC and SSE streams and to callers in the process. A [Host] starts
// runs, commits every event before it sends it, resumes the runs of hosts that died, and
// releases its own when it stops.
//
// The agent decides what it answers, its [Projection] what readers of runs see, and the log
// who may read what.
package a2aserver
