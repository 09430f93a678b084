// Package worker starts this binary again as a worker process, confines it, and talks
// to it: one supervisor for the workers that run queries and for those that ingest
// files. A worker has no environment, no network and no files but those that it was
// given, bounded memory, and ends with the server; what it says is checked before it
// is believed.
//
// What a worker does with a request is for the package engine; when workers start, and
// for whom, is for the package lake.
package worker
