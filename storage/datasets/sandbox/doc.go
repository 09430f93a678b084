// Package sandbox starts this binary again as a worker process, confines it and exchanges
// messages with it: one supervisor for query workers and ingest workers. A worker has no
// environment, no network, no files but those of its request, bounded memory, and ends with
// the server. The server checks its replies.
//
// The package engine does the work in a worker; the package datasets decides when workers start
// and for whom.
package sandbox
