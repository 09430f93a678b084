package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/storage/datasets/ingest"
)

// ordersSQL writes a number of rows to a CSV file.
const ordersSQL = `COPY (SELECT i AS id, 'customer ' || (i * 7919 %% 100000) AS customer, DATE '2020-01-01' + CAST(i %% 1500 AS INTEGER) AS day,
		round(((i * 31) %% 100000) / 100.0, 2) AS amount, i %% 50 AS quantity, ['red', 'green', 'blue', 'yellow'][i %% 4 + 1] AS colour,
		TIMESTAMP '2024-01-01' + INTERVAL (i %% 86400) SECOND AS at, i %% 3 = 0 AS paid, 'note ' || md5(CAST(i AS VARCHAR)) AS note
		FROM range(%d) t(i)) TO '%s' (HEADER)`

// BenchmarkCSV ingests a generated CSV file and has DuckDB turn the same file
// into Parquet by itself, in turns, and reports how many times as long we take
// (the best of five rounds each, of two where there are more than five million
// rows, which other work on the machine disturbs the least). 5,000,000 rows make
// a file of some 550 MB.
func BenchmarkCSV(b *testing.B) {
	benchtest.Each(b, "rows", benchtest.Sizes(100_000, 10_000, 1_000_000, 5_000_000, 10_000_000), benchmarkCSV)
}

func benchmarkCSV(b *testing.B, rows int) {
	l := setup(b)
	source := filepath.Join(l.dir, "orders.csv")
	l.exec(fmt.Sprintf(ordersSQL, rows, source))
	rounds := 5
	if rows > 5_000_000 {
		rounds = 2
	}
	b.ResetTimer()
	for range b.N {
		var ours, theirs []time.Duration
		for range rounds {
			start := time.Now()
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{{Path: source, Name: "orders.csv"}}})
			ours = append(ours, time.Since(start))
			if result.Rows != int64(rows) {
				b.Fatalf("%d rows", result.Rows)
			}
			start = time.Now()
			l.exec(fmt.Sprintf("COPY (FROM '%s') TO '%s' (FORMAT parquet)", source, filepath.Join(l.dir, "duckdb.parquet")))
			theirs = append(theirs, time.Since(start))
		}
		b.ReportMetric(float64(slices.Min(ours))/float64(slices.Min(theirs)), "×duckdb")
		b.ReportMetric(slices.Min(ours).Seconds(), "s/ingest")
		b.ReportMetric(slices.Min(theirs).Seconds(), "s/duckdb")
		// Making the file and DuckDB's own turn are in it.
		b.ReportMetric(float64(benchtest.Memory(os.Getpid(), "VmHWM"))/(1<<20), "MiB-peak")
	}
}

// BenchmarkAppend ingests ten rows, as POST /ingest does.
func BenchmarkAppend(b *testing.B) {
	l := setup(b)
	rows := l.file("rows", lines(10, `{"id":%d,"name":"x","day":"2024-01-02","tags":["a"]}`+"\n"))
	first := l.mustRun(ingest.Job{Rows: rows.Path})
	for b.Loop() {
		l.mustRun(ingest.Job{Rows: rows.Path, Have: first.Columns})
	}
}

// BenchmarkParquet ingests a Parquet file of six columns, two of them text, and
// reports how many times as long that takes as it would without measuring the
// lengths of texts, which the benchmark does once more by itself.
func BenchmarkParquet(b *testing.B) {
	benchtest.Each(b, "rows", benchtest.Sizes(100_000, 2_000_000), benchmarkParquet)
}

func benchmarkParquet(b *testing.B, rows int) {
	l := setup(b)
	source := l.parquet("orders.parquet", fmt.Sprintf(`SELECT i AS id, 'customer ' || (i * 7919 %% 100000) AS customer,
		DATE '2020-01-01' + CAST(i %% 1500 AS INTEGER) AS day, round(((i * 31) %% 100000) / 100.0, 2) AS amount, i %% 50 AS quantity,
		'note ' || md5(CAST(i AS VARCHAR)) AS note FROM range(%d) t(i)`, rows))
	b.ResetTimer()
	for range b.N {
		var whole, lengths []time.Duration
		for range 5 {
			start := time.Now()
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{source}})
			whole = append(whole, time.Since(start))
			if result.Rows != int64(rows) {
				b.Fatalf("%d rows", result.Rows)
			}
			start = time.Now()
			l.query(fmt.Sprintf("SELECT sum(strlen(customer)) + sum(strlen(note)) FROM '%s'", source.Path))
			lengths = append(lengths, time.Since(start))
		}
		took, measuring := slices.Min(whole), slices.Min(lengths)
		b.ReportMetric(float64(took)/float64(took-measuring), "×unmeasured")
		b.ReportMetric(took.Seconds(), "s/ingest")
		b.ReportMetric(measuring.Seconds(), "s/lengths")
	}
}
