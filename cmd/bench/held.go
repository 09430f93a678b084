package main

// held is a limit that Parley must keep.
type held struct {
	work, against string
	pick
	// limit is the most that the value may be, or the least where atLeast is set.
	limit   float64
	atLeast bool
	// shown and in write the limit and the unit.
	shown, in string
}

// numbers are the rows of the table.
var numbers = []held{
	{
		work: "Streams of four events a second, kept in SQLite, 32 clients", against: "the SDK's handler, in memory",
		pick: pick{"AgainstSDK", streaming, "sqlite/sdk-rate"}, limit: 5, atLeast: true, shown: "5", in: "times",
	}, {
		work: "CPU of the server for such a stream", against: "the SDK's handler",
		pick: pick{"AgainstSDK", streaming, "sqlite/sdk-cpu"}, limit: 1.0 / 6, shown: "0.167", in: "of it",
	}, {
		work: "Time to the first event, p50", against: "the SDK's handler",
		pick: pick{"AgainstSDK", streaming, "sqlite/sdk-first"}, limit: 0.25, shown: "0.25", in: "of it",
	}, {
		work: "The same streams a second, kept in PostgreSQL", against: "the SDK's handler, in memory",
		pick: pick{"AgainstSDK", streaming, "postgres/sdk-rate"}, limit: 3, atLeast: true, shown: "3", in: "times",
	}, {
		work: "The same streams a second, over HTTP+JSON, kept in SQLite", against: "JSON-RPC",
		pick: pick{"Bindings", "", "http/jsonrpc-rate"}, limit: 0.9, atLeast: true, shown: "0.9", in: "of its rate",
	}, {
		work: "nl2ql, a question asked before, to end of stream, 100,000 rows, p50", against: "DuckDB running the same query in process",
		pick: pick{"Ask", "rows=100000 datasets=1 clients=1", "overhead-ms"}, limit: 10, shown: "10", in: "ms more",
	}, {
		work: "CSV to dataset, 5 million rows", against: "DuckDB's own CSV to Parquet",
		pick: pick{"CSV", "rows=5000000", "×duckdb"}, limit: 1.3, shown: "1.3", in: "times",
	}, {
		work: "Memory of an open, idle stream, 10,000 on one process", against: "",
		pick: pick{"IdleStreams", "streams=10000", "resident-KiB/stream"}, limit: 48, shown: "48", in: "KiB",
	}, {
		work: "Conversations read by REST from SQLite, 8 clients", against: "a bare gin handler that answers the same bytes",
		pick: pick{"ConversationRead", "store=sqlite clients=8", "of-bare"}, limit: 0.5, atLeast: true, shown: "0.5", in: "of its rate",
	}, {
		work: "Memory of `parley serve`, idle, no worker running", against: "",
		pick: pick{"IdleServe", "", "MiB"}, limit: 80, shown: "80", in: "MiB",
	}, {
		work: "200 users asking at once beside one with 1,000 requests, p99", against: "the 200 users alone",
		pick: pick{"Flood", "", "times"}, limit: 2, shown: "2", in: "times",
	},
}

const streaming = "method=SendStreamingMessage clients=32"

// bound is the limit in words.
func (h held) bound() string {
	if h.atLeast {
		return "at least " + h.shown + " " + h.in
	}
	return "at most " + h.shown + " " + h.in
}

// verdict formats a value, and whether it keeps the limit.
func (h held) verdict(all figures) (measured, holds string) {
	value, ok := all.value(h.pick)
	if !ok {
		return "not measured", "?"
	}
	holds = "**no**"
	if h.atLeast && value >= h.limit || !h.atLeast && value <= h.limit {
		holds = "yes"
	}
	return number(value) + " " + h.in, holds
}
