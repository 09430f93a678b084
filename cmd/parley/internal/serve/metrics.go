package serve

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/cards"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/llm"
	"parley/rest"
	"parley/storage/sqlstore"
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

// newCounters returns counters with a label, whose values are there from the start.
func newCounters[T ~string](registry *prometheus.Registry, name, help, label string, values ...T) *prometheus.CounterVec {
	counters := promauto.With(registry).NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	for _, value := range values {
		counters.WithLabelValues(string(value))
	}
	return counters
}

// registerMetrics adds the metrics whose values are read on each scrape.
func (s *server) registerMetrics(handler *rest.Server) {
	factory := promauto.With(s.registry)
	gauge := func(name, help string, labels prometheus.Labels, value func() int) {
		factory.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value()) })
	}
	counter := func(name, help string, labels prometheus.Labels, value func() int64) {
		factory.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value()) })
	}
	gauge("parley_log_queue", "Changes of runs that wait for this process's log to write them.", nil, s.store.LogQueue)
	s.registry.MustRegister(loadMetrics{s})

	const queries = "Queries that run in a worker, or wait for one."
	pool := s.data.pool
	gauge("parley_query_pool_queries", queries, prometheus.Labels{"state": "running"}, func() int { return pool.Stats().Running })
	gauge("parley_query_pool_queries", queries, prometheus.Labels{"state": "waiting"}, func() int { return pool.Stats().Waiting })
	gauge("parley_query_pool_idle_workers", "Workers that are kept warm for the next query.", nil, func() int { return pool.Stats().Idle })
	counter("parley_query_pool_workers_started_total", "Worker processes started.", nil, func() int64 { return pool.Stats().Started })
	counter("parley_query_pool_workers_ended_total", "Worker processes that were killed, or died, in a query.", nil, func() int64 { return pool.Stats().Ended })
	counter("parley_query_pool_refused_total", "Queries that found no place to wait.", nil, func() int64 { return pool.Stats().Refused })

	queues := map[string]func() fair.Stats{
		"large_bodies":   func() fair.Stats { bodies, _, _ := handler.QueueStats(); return bodies },
		"large_requests": func() fair.Stats { _, large, _ := handler.QueueStats(); return large },
		"inferences":     func() fair.Stats { _, _, infer := handler.QueueStats(); return infer },
		"files":          s.data.datasets.IngestStats,
		"answer_bytes":   s.reads.Stats,
		"short_requests": s.short.Stats,
	}
	if s.data.objects.partQueue != nil {
		queues["parts"] = s.data.objects.partQueue
	}
	const slots = "Parts of uploads, large requests, inferences, and files to be made, that have their user's turn or wait for it."
	for what, stats := range queues {
		gauge("parley_turns", slots, prometheus.Labels{"what": what, "state": "running"}, func() int { return stats().Running })
		gauge("parley_turns", slots, prometheus.Labels{"what": what, "state": "waiting"}, func() int { return stats().Waiting })
		counter("parley_turns_refused_total", "Those that found no place to wait, or waited too long.", prometheus.Labels{"what": what}, func() int64 { return stats().Refused })
	}

	if cache := s.data.objects.cache; cache != nil {
		gauge("parley_cache_bytes", "What the cached files of datasets take.", nil, func() int { return int(cache.Stats().Bytes) })
		counter("parley_cache_hits_total", "Files of datasets that were in the cache when needed.", nil, func() int64 { return cache.Stats().Hits })
		counter("parley_cache_misses_total", "Files of datasets that had to be fetched.", nil, func() int64 { return cache.Stats().Misses })
		counter("parley_cache_evictions_total", "Cached files that went to make room for others.", nil, func() int64 { return cache.Stats().Evictions })
		counter("parley_cache_failures_total", "Files that were not what they should be, or could not be fetched or kept.", nil, func() int64 { return cache.Stats().Failures })
	}
}

// loadTimeout limits the query for open runs and ingestions, so that the other metrics
// do not wait for a database that is unavailable.
const loadTimeout = time.Second

var (
	openRuns       = prometheus.NewDesc("parley_runs_open", "Runs that have not ended, of all processes: waiting to begin, working, or asking the user something.", []string{"state"}, nil)
	openIngestions = prometheus.NewDesc("parley_ingestions_open", "Ingestions that have not ended, of all processes.", []string{"state"}, nil)
)

// loadMetrics has the open runs and ingestions, by one query for each scrape. They are
// missing while the database is unavailable.
type loadMetrics struct{ *server }

// Describe implements prometheus.Collector.
func (loadMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- openRuns
	descs <- openIngestions
}

// Collect implements prometheus.Collector.
func (l loadMetrics) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
	defer cancel()
	load, err := l.store.Load(ctx)
	if err != nil {
		l.log.Warn("load metrics unavailable", "error", err)
		return
	}
	runs := map[string]int{"waiting": 0, "working": 0, "asking": 0}
	for state, count := range load.Runs {
		switch state {
		case string(a2a.TaskStateSubmitted):
			runs["waiting"] += count
		case domain.StateInputRequired, domain.StateAuthRequired:
			runs["asking"] += count
		default:
			runs["working"] += count
		}
	}
	send := func(desc *prometheus.Desc, count int, state string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(count), state)
	}
	for state, count := range runs {
		send(openRuns, count, state)
	}
	send(openIngestions, load.Ingestions[domain.IngestionPending], "queued")
	send(openIngestions, load.Ingestions[domain.IngestionProcessing], "running")
}

// observeJobs returns what counts the jobs of language models. All labels have few values.
func observeJobs(registry *prometheus.Registry) func(llm.JobDone) {
	factory := promauto.With(registry)
	calls := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "parley_llm_calls_total",
		Help: "Jobs that language models were asked to do.",
	}, []string{"model", "job", "outcome"})
	tokens := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "parley_llm_tokens_total",
		Help: "Tokens that language models read (input) and wrote (output).",
	}, []string{"model", "kind"})
	duration := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "parley_llm_call_duration_seconds",
		Help:    "How long language models took for a job, tries and waiting included.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320},
	}, []string{"model", "job"})
	return func(done llm.JobDone) {
		model := done.Usage.Model
		calls.WithLabelValues(model, done.Job, outcomeOf(done.Err)).Inc()
		tokens.WithLabelValues(model, "input").Add(float64(done.Usage.InputTokens))
		tokens.WithLabelValues(model, "output").Add(float64(done.Usage.OutputTokens))
		duration.WithLabelValues(model, done.Job).Observe(done.Duration.Seconds())
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, llm.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, llm.ErrNoAnswer):
		return "no_answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "failed"
}

// storeMetrics counts runs, ingestions, uploads and database operations. All labels have
// few values, which are there from the start.
type storeMetrics struct {
	duration      *prometheus.HistogramVec
	failures      *prometheus.CounterVec
	batchRuns     prometheus.Histogram
	events        prometheus.Counter
	runsStarted   *prometheus.CounterVec
	runsEnded     *prometheus.CounterVec
	takeovers     prometheus.Counter
	ingestions    *prometheus.CounterVec
	ingestedRows  prometheus.Counter
	ingestedBytes prometheus.Counter
	uploads       *prometheus.CounterVec
	uploadedBytes prometheus.Counter
}

var _ sqlstore.Observer = (*storeMetrics)(nil)

func newStoreMetrics(registry *prometheus.Registry) *storeMetrics {
	factory := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	operations := []sqlstore.Operation{sqlstore.OperationRead, sqlstore.OperationWrite, sqlstore.OperationLog}
	m := &storeMetrics{
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "parley_store_duration_seconds",
			Help:    "How long reads, transactions and batches of the log took, waiting for the database included.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"operation"}),
		failures: newCounters(registry, "parley_store_failures_total", "Reads, transactions and batches of the log that the database failed.", "operation", operations...),
		batchRuns: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "parley_log_batch_runs",
			Help:    "How many runs shared a batch of the log.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 9),
		}),
		events:        counter("parley_log_events_total", "Events written to the log."),
		runsStarted:   newCounters(registry, "parley_runs_started_total", "Runs started.", "agent", cards.NL2QLName, cards.AssistantName),
		runsEnded:     newCounters(registry, "parley_runs_ended_total", "Runs ended, by what they came to.", "outcome", domain.RunCompleted, domain.RunFailed, domain.RunExpired),
		takeovers:     counter("parley_run_takeovers_total", "Runs that this process took over from one that had died."),
		ingestions:    newCounters(registry, "parley_ingestions_ended_total", "Ingestions ended, by what they came to.", "outcome", domain.IngestionCompleted, domain.IngestionFailed),
		ingestedRows:  counter("parley_ingested_rows_total", "Rows that ingestions added."),
		ingestedBytes: counter("parley_ingested_bytes_total", "Bytes of uploaded files that ingestions read."),
		uploads:       newCounters(registry, "parley_uploads_ended_total", "Uploaded files, by what became of them.", "outcome", domain.UploadCompleted, domain.UploadAborted),
		uploadedBytes: counter("parley_uploaded_bytes_total", "Bytes of uploaded files."),
	}
	for _, operation := range operations {
		m.duration.WithLabelValues(string(operation))
	}
	return m
}

// Done implements sqlstore.Observer.
func (m *storeMetrics) Done(op sqlstore.Operation, took time.Duration, failed bool) {
	m.duration.WithLabelValues(string(op)).Observe(took.Seconds())
	if failed {
		m.failures.WithLabelValues(string(op)).Inc()
	}
}

// Batch implements sqlstore.Observer.
func (m *storeMetrics) Batch(runs, events int) {
	m.batchRuns.Observe(float64(runs))
	m.events.Add(float64(events))
}

// RunStarted implements sqlstore.Observer.
func (m *storeMetrics) RunStarted(agent string) { m.runsStarted.WithLabelValues(agent).Inc() }

// RunEnded implements sqlstore.Observer.
func (m *storeMetrics) RunEnded(status domain.RunStatus) {
	m.runsEnded.WithLabelValues(string(status)).Inc()
}

// RunsClaimed implements sqlstore.Observer.
func (m *storeMetrics) RunsClaimed(count int) { m.takeovers.Add(float64(count)) }

// IngestionEnded implements sqlstore.Observer.
func (m *storeMetrics) IngestionEnded(status domain.IngestionStatus, rows, bytes int64) {
	m.ingestions.WithLabelValues(string(status)).Inc()
	m.ingestedRows.Add(float64(rows))
	m.ingestedBytes.Add(float64(bytes))
}

// UploadsEnded implements sqlstore.Observer.
func (m *storeMetrics) UploadsEnded(status domain.UploadStatus, files int, bytes int64) {
	m.uploads.WithLabelValues(string(status)).Add(float64(files))
	m.uploadedBytes.Add(float64(bytes))
}
