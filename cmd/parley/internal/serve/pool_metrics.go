package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley/storage/lake"
)

// poolMetrics shows, whenever it is asked, what the pool of query workers does.
type poolMetrics struct{ pool *lake.Pool }

var (
	poolQueries = prometheus.NewDesc("parley_query_pool_queries", "Queries that run in a worker, or wait for one.", []string{"state"}, nil)
	poolIdle    = prometheus.NewDesc("parley_query_pool_idle_workers", "Workers that are kept warm for the next query.", nil, nil)
	poolStarted = prometheus.NewDesc("parley_query_pool_workers_started_total", "Worker processes started.", nil, nil)
	poolEnded   = prometheus.NewDesc("parley_query_pool_workers_ended_total", "Worker processes that were killed, or died, in a query.", nil, nil)
	poolRefused = prometheus.NewDesc("parley_query_pool_refused_total", "Queries that found no place to wait.", nil, nil)
)

// Describe implements prometheus.Collector.
func (poolMetrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{poolQueries, poolIdle, poolStarted, poolEnded, poolRefused} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector.
func (m poolMetrics) Collect(metrics chan<- prometheus.Metric) {
	stats := m.pool.Stats()
	gauge := func(desc *prometheus.Desc, value int, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	counter := func(desc *prometheus.Desc, value int64) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value))
	}
	gauge(poolQueries, stats.Running, "running")
	gauge(poolQueries, stats.Waiting, "waiting")
	gauge(poolIdle, stats.Idle)
	counter(poolStarted, stats.Started)
	counter(poolEnded, stats.Ended)
	counter(poolRefused, stats.Refused)
}
