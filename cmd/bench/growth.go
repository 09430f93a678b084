package main

import "fmt"

// growth is a plot and a table of values by size.
type growth struct {
	file, title, unit, axis string
	series                  []series
}

// series is a line of a plot.
type series struct {
	name string
	pick
}

// chapter has the plots of one size.
type chapter struct {
	title   string
	growths []growth
}

const askBase = "rows=100000 datasets=1"

// chapters are those of the report.
var chapters = []chapter{
	{"Clients", []growth{
		{"streams", "Streams of four events", "streams/s", "clients", contenders("runs/s")},
		{"first", "Time to the first event, p50", "µs", "clients", contenders("first-µs")},
		{"cpu", "CPU of the server for a stream", "µs", "clients", contenders("cpu-µs")},
		{"append", "Runs of four events written to the log", "runs/s", "clients", []series{
			{"SQLite", pick{"Append", "store=sqlite", "runs/s"}},
			{"PostgreSQL", pick{"Append", "store=postgres", "runs/s"}},
		}},
		{"ask-clients", "nl2ql, question to end of stream, 100,000 rows", "ms", "clients", asked(askBase)},
		{"conversation", "Conversations read by REST", "reads/s", "clients", []series{
			{"Parley, SQLite", pick{"ConversationRead", "store=sqlite", "reads/s"}},
			{"Parley, PostgreSQL", pick{"ConversationRead", "store=postgres", "reads/s"}},
			{"bare gin", pick{"ConversationRead", "store=sqlite", "bare-reads/s"}},
		}},
	}},
	{"Rows", []growth{
		{"ask-rows", "nl2ql, question to end of stream, one client", "ms", "rows", asked("datasets=1 clients=1")},
		{"csv", "CSV to dataset", "s", "rows", []series{
			{"Parley", pick{"CSV", "", "s/ingest"}},
			{"DuckDB, CSV to Parquet", pick{"CSV", "", "s/duckdb"}},
		}},
	}},
	{"Datasets in a namespace", []growth{
		{"ask-datasets", "nl2ql, question to end of stream, one client, 100,000 rows", "ms", "datasets", asked("rows=100000 clients=1")},
	}},
	{"Events in the log", []growth{
		{"log-append", "Runs of four events written, 32 clients", "runs/s", "events", []series{
			{"SQLite", pick{"Log", "store=sqlite", "runs/s"}},
			{"PostgreSQL", pick{"Log", "store=postgres", "runs/s"}},
		}},
		{"log-read", "A task, and all events of its stream, read", "µs", "events", []series{
			{"task, SQLite", pick{"Log", "store=sqlite", "task-µs"}},
			{"stream, SQLite", pick{"Log", "store=sqlite", "events-µs"}},
			{"task, PostgreSQL", pick{"Log", "store=postgres", "task-µs"}},
			{"stream, PostgreSQL", pick{"Log", "store=postgres", "events-µs"}},
		}},
		{"log-conversations", "A list of conversations read", "µs", "events", []series{
			{"SQLite", pick{"Log", "store=sqlite", "conversations-µs"}},
			{"PostgreSQL", pick{"Log", "store=postgres", "conversations-µs"}},
		}},
	}},
	{"Idle streams", []growth{
		{"idle", "Memory of an open stream", "KiB", "streams", []series{
			{"all of it", pick{"IdleStreams", "", "resident-KiB/stream"}},
			{"heap and stacks of Go", pick{"IdleStreams", "", "KiB/stream"}},
		}},
	}},
}

// contenders are the servers of the agent of four events.
func contenders(unit string) []series {
	const sizes = "method=SendStreamingMessage"
	return []series{
		{"Parley, SQLite", pick{"AgainstSDK", sizes, "sqlite-" + unit}},
		{"Parley, PostgreSQL", pick{"AgainstSDK", sizes, "postgres-" + unit}},
		{"a2a-go, in memory", pick{"AgainstSDK", sizes, "sdk-" + unit}},
		{"Express, in memory", pick{"AgainstSDK", sizes, "express-" + unit}},
	}
}

// asked is the duration of answers of nl2ql.
func asked(sizes string) []series {
	return []series{
		{"Parley, p50", pick{"Ask", sizes, "p50-ms"}},
		{"Parley, p99", pick{"Ask", sizes, "p99-ms"}},
		{"DuckDB alone, p50", pick{"Ask", sizes, "duckdb-p50-ms"}},
	}
}

// sentence describes the growth from the smallest size to the largest.
func (g growth) sentence(all figures) string {
	text := ""
	for _, s := range g.series {
		line := all.points(s.pick, g.axis)
		if len(line) < 2 {
			continue
		}
		first, last := line[0], line[len(line)-1]
		if text == "" {
			text = fmt.Sprintf("From %s to %s %s: ", short(first.size), short(last.size), g.axis)
		} else {
			text += "; "
		}
		text += fmt.Sprintf("%s %s to %s %s", s.name, number(first.value), number(last.value), g.unit)
		if first.value > 0 {
			text += fmt.Sprintf(" (%s times)", number(last.value/first.value))
		}
	}
	if text == "" {
		return "Not measured at more than one size."
	}
	return text + "."
}
