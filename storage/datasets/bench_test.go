package datasets

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/benchtest"
)

// BenchmarkClients is clients at once on one dataset of 100,000 rows: warm, with
// workers that have it in memory, and cold, each query with a worker of its own.
func BenchmarkClients(b *testing.B) {
	for _, start := range []string{"warm", "cold"} {
		b.Run("start="+start, func(b *testing.B) {
			benchtest.Each(b, "clients", benchtest.Sizes(32, benchtest.Clients...), func(b *testing.B, clients int) {
				benchmarkClients(b, clients, start == "cold")
			})
		})
	}
}

func benchmarkClients(b *testing.B, clients int, cold bool) {
	s := newSetup(b, func(c *PoolConfig) { c.Queue, c.Memory = clients, 1<<30 })
	table := parquetTable(b, s.dir, "sales", `SELECT i AS id, 'customer ' || i % 5000 AS customer, (i * 7919 % 100000) / 100.0 AS total,
		DATE '2020-01-01' + CAST(i % 1500 AS INTEGER) AS day FROM range(100000) r(i)`)
	queries := []string{
		"SELECT * FROM sales WHERE id = %d",
		"SELECT customer, sum(total) AS spent FROM sales WHERE id > %d GROUP BY customer ORDER BY spent DESC LIMIT 10",
		"SELECT year(day) AS year, count(*) AS n, avg(total) AS mean FROM sales WHERE id <> %d GROUP BY ALL ORDER BY ALL",
	}
	var next atomic.Int64
	var mu sync.Mutex
	var times []time.Duration
	var memory int64
	one := func() {
		n := next.Add(1)
		user := ""
		if cold {
			user = fmt.Sprint(n)
		}
		start := time.Now()
		_, err := s.pool.Query(b.Context(), Query{SQL: fmt.Sprintf(queries[n%3], n), Tables: []Table{table}, User: user})
		if err != nil {
			b.Error(err)
		}
		mu.Lock()
		times = append(times, time.Since(start))
		mu.Unlock()
	}
	if !cold {
		var wg sync.WaitGroup
		for range 2 * s.pool.config.Workers {
			wg.Go(one)
		}
		wg.Wait()
		times = times[:0]
	}
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				one()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	for _, w := range s.pool.idle {
		memory += benchtest.Memory(w.PID, "VmRSS")
	}
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(times, 50)), "p50-ms")
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(times, 99)), "p99-ms")
	b.ReportMetric(float64(len(times))/b.Elapsed().Seconds(), "queries/s")
	b.ReportMetric(float64(memory)/(1<<20), "pool-MiB")
}

// BenchmarkOneClient is a query alone: what isolation costs when nobody waits.
func BenchmarkOneClient(b *testing.B) {
	s := newSetup(b, nil)
	s.rows(b, "SELECT id FROM orders WHERE id = 1")
	for b.Loop() {
		s.rows(b, "SELECT id FROM orders WHERE id = 1")
	}
}

// BenchmarkColdStart is a query alone that starts its worker.
func BenchmarkColdStart(b *testing.B) {
	s := newSetup(b, nil)
	for n := 0; b.Loop(); n++ {
		if _, err := s.pool.Query(b.Context(), Query{SQL: "SELECT id FROM orders WHERE id = 1", Tables: s.tables, User: fmt.Sprint(n)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPassages ranks 20,000 passages.
func BenchmarkPassages(b *testing.B) {
	s := newSetup(b, nil)
	table := parquetTable(b, s.dir, "texts", `SELECT 'doc ' || i // 100 AS document, i % 100 AS passage,
		'the quick brown fox number ' || i || ' jumps over ' || repeat('some lazy dog and ', 20) || i % 977 AS text FROM range(20000) r(i)`)
	for b.Loop() {
		result, err := s.pool.Passages(b.Context(), "", table, nil, "number 977 jumping", 10)
		if err != nil || len(result.Rows) != 10 {
			b.Fatal(len(result.Rows), err)
		}
	}
}
