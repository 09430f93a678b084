package main

import "parley/storage/datasets/engine"

// runWorker takes the place of the command line when the server runs itself
// again: DuckDB is there and nowhere else, with SQL and files that nobody has
// looked at. It reads no settings.
func runWorker(args []string) (code int, is bool) {
	if len(args) == 0 || args[0] != "worker" {
		return 0, false
	}
	if len(args) > 1 && args[1] == "ingest" {
		return engine.IngestMain(), true
	}
	return engine.QueryMain(), true
}
