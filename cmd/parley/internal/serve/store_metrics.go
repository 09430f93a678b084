package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/cards"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

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
