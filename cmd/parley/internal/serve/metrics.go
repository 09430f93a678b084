package serve

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
	"parley/storage/datasets"
	"parley/storage/objects"
)

// newRegistry returns the metrics of the process itself; others are added to it.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}

// registerMetrics adds the metrics whose values are read on each scrape.
func registerMetrics(b base, data *dataPlane, reads *fair.Queue, handler *rest.Server) {
	queues := map[string]func() fair.Stats{
		"large_bodies":   func() fair.Stats { bodies, _, _ := handler.QueueStats(); return bodies },
		"large_requests": func() fair.Stats { _, large, _ := handler.QueueStats(); return large },
		"inferences":     func() fair.Stats { _, _, infer := handler.QueueStats(); return infer },
		"files":          data.datasets.IngestStats,
		"answer_bytes":   reads.Stats,
	}
	if data.objects.partQueue != nil {
		queues["parts"] = data.objects.partQueue
	}
	b.registry.MustRegister(loadMetrics(b), poolMetrics(data.pool), queueMetrics(queues))
	if data.objects.cache != nil {
		b.registry.MustRegister(cacheMetrics(data.objects.cache))
	}
}

// collector reads values on each scrape and sends them.
type collector func(scrape)

// Describe implements prometheus.Collector. Without descriptions the registry checks the
// metrics on each scrape instead of once.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(metrics chan<- prometheus.Metric) { c(metrics) }

// scrape receives the values of one scrape.
type scrape chan<- prometheus.Metric

func (s scrape) gauge(desc *prometheus.Desc, value int, labels ...string) {
	s <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
}

func (s scrape) counter(desc *prometheus.Desc, value int64, labels ...string) {
	s <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), labels...)
}

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// loadTimeout limits the query for open runs and ingestions, so that the other metrics
// do not wait for a database that is unavailable.
const loadTimeout = time.Second

var (
	openRuns       = newDesc("parley_runs_open", "Runs that have not ended, of all processes: waiting to begin, working, or asking the user something.", "state")
	openIngestions = newDesc("parley_ingestions_open", "Ingestions that have not ended, of all processes.", "state")
	logQueue       = newDesc("parley_log_queue", "Changes of runs that wait for this process's log to write them.")
)

// loadMetrics has the open runs and ingestions. They are missing while the database is
// unavailable.
func loadMetrics(b base) collector {
	return func(s scrape) {
		s.gauge(logQueue, b.store.LogQueue())
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		load, err := b.store.Load(ctx)
		if err != nil {
			b.log.Warn("load metrics unavailable", "error", err)
			return
		}
		waiting, working, asking := 0, 0, 0
		for state, count := range load.Runs {
			switch state {
			case string(a2a.TaskStateSubmitted):
				waiting += count
			case domain.StateInputRequired, domain.StateAuthRequired:
				asking += count
			default:
				working += count
			}
		}
		s.gauge(openRuns, waiting, "waiting")
		s.gauge(openRuns, working, "working")
		s.gauge(openRuns, asking, "asking")
		s.gauge(openIngestions, load.Ingestions[domain.IngestionPending], "queued")
		s.gauge(openIngestions, load.Ingestions[domain.IngestionProcessing], "running")
	}
}

var (
	poolQueries = newDesc("parley_query_pool_queries", "Queries that run in a worker, or wait for one.", "state")
	poolIdle    = newDesc("parley_query_pool_idle_workers", "Workers that are kept warm for the next query.")
	poolStarted = newDesc("parley_query_pool_workers_started_total", "Worker processes started.")
	poolEnded   = newDesc("parley_query_pool_workers_ended_total", "Worker processes that were killed, or died, in a query.")
	poolRefused = newDesc("parley_query_pool_refused_total", "Queries that found no place to wait.")
)

func poolMetrics(pool *datasets.Pool) collector {
	return func(s scrape) {
		stats := pool.Stats()
		s.gauge(poolQueries, stats.Running, "running")
		s.gauge(poolQueries, stats.Waiting, "waiting")
		s.gauge(poolIdle, stats.Idle)
		s.counter(poolStarted, stats.Started)
		s.counter(poolEnded, stats.Ended)
		s.counter(poolRefused, stats.Refused)
	}
}

var (
	queueSlots   = newDesc("parley_turns", "Parts of uploads, large requests, inferences, and files to be made, that have their user's turn or wait for it.", "what", "state")
	queueRefused = newDesc("parley_turns_refused_total", "Those that found no place to wait, or waited too long.", "what")
)

// queueMetrics are those of the fair queues by name.
func queueMetrics(queues map[string]func() fair.Stats) collector {
	return func(s scrape) {
		for what, stats := range queues {
			now := stats()
			s.gauge(queueSlots, now.Running, what, "running")
			s.gauge(queueSlots, now.Waiting, what, "waiting")
			s.counter(queueRefused, now.Refused, what)
		}
	}
}

var (
	cacheBytes     = newDesc("parley_cache_bytes", "What the cached files of datasets take.")
	cacheHits      = newDesc("parley_cache_hits_total", "Files of datasets that were in the cache when needed.")
	cacheMisses    = newDesc("parley_cache_misses_total", "Files of datasets that had to be fetched.")
	cacheEvictions = newDesc("parley_cache_evictions_total", "Cached files that went to make room for others.")
	cacheFailures  = newDesc("parley_cache_failures_total", "Files that were not what they should be, or could not be fetched or kept.")
)

func cacheMetrics(cache *objects.Cache) collector {
	return func(s scrape) {
		stats := cache.Stats()
		s.gauge(cacheBytes, int(stats.Bytes))
		s.counter(cacheHits, stats.Hits)
		s.counter(cacheMisses, stats.Misses)
		s.counter(cacheEvictions, stats.Evictions)
		s.counter(cacheFailures, stats.Failures)
	}
}
