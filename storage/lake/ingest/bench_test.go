package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/storage/lake/ingest"
)

// BenchmarkCSV ingests a generated CSV file and has DuckDB turn the same file
// into Parquet by itself, in turns, and reports how many times as long we take
// (the best of five rounds each, which other work on the machine disturbs the
// least). PARLEY_BENCH_ROWS sets the rows; 5000000 make a
// file of some 550 MB.
func BenchmarkCSV(b *testing.B) {
	rows := 500_000
	if n, err := strconv.Atoi(os.Getenv("PARLEY_BENCH_ROWS")); err == nil {
		rows = n
	}
	l := setup(b)
	source := filepath.Join(l.dir, "orders.csv")
	l.exec(fmt.Sprintf(`COPY (SELECT i AS id, 'customer ' || (i * 7919 %% 100000) AS customer, DATE '2020-01-01' + CAST(i %% 1500 AS INTEGER) AS day,
		round(((i * 31) %% 100000) / 100.0, 2) AS amount, i %% 50 AS quantity, ['red', 'green', 'blue', 'yellow'][i %% 4 + 1] AS colour,
		TIMESTAMP '2024-01-01' + INTERVAL (i %% 86400) SECOND AS at, i %% 3 = 0 AS paid, 'note ' || md5(CAST(i AS VARCHAR)) AS note
		FROM range(%d) t(i)) TO '%s' (HEADER)`, rows, source))
	b.ResetTimer()
	for range b.N {
		var ours, theirs []time.Duration
		for range 5 {
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
		if peak := peakMemory(); peak > 0 {
			b.ReportMetric(peak, "MiB-peak")
		}
	}
}

// peakMemory is the most memory that this process has had, in MiB, generating
// the file and DuckDB's own turn included; 0 where it is not known.
func peakMemory() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	fmt.Sscan(rest, &kib)
	return kib / 1024
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
