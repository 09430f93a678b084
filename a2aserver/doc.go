// Package a2aserver hosts agents: it runs them over the log of events, and gives
// what they say to those who ask and follow, over A2A's JSON-RPC and streams or in
// the process. A [Host] begins runs, keeps every event before anyone sees it,
// takes over the runs of hosts that have died, and leaves its own when it stops.
//
// What an agent answers is the agent's, what its events mean to readers of runs is
// the [Projection]'s that comes with it, and who may see what is the log's.
package a2aserver
