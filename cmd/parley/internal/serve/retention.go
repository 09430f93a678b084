package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/storage/retention"
	"parley/storage/sqlstore"
)

// retentionMetrics counts what was removed because of its age.
type retentionMetrics struct {
	removed *prometheus.CounterVec
	turns   prometheus.Counter
}

func newRetentionMetrics(registry *prometheus.Registry) retentionMetrics {
	factory := promauto.With(registry)
	m := retentionMetrics{
		removed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_retention_removed_total",
			Help: "What was removed because of its age: runs whose events were, runs, upload sessions, records of ingestions.",
		}, []string{"what"}),
		turns: factory.NewCounter(prometheus.CounterOpts{
			Name: "parley_retention_turns_total",
			Help: "How often this process removed what is old, for all on its database.",
		}),
	}
	for _, kind := range retention.Kinds() {
		m.removed.WithLabelValues(string(kind))
	}
	return m
}

func (m retentionMetrics) observe(kind retention.Kind, count int) {
	m.removed.WithLabelValues(string(kind)).Add(float64(count))
}

// newRetention returns what removes old records, stale uploads and orphaned files.
func newRetention(cfg *Command, b base, data *dataPlane) *retention.Retention {
	metrics := newRetentionMetrics(b.registry)
	return retention.New(retention.Config{
		Store: b.store, Batch: sqlstore.RetentionBatch, KeepEvents: cfg.KeepEvents, KeepRuns: cfg.KeepRuns, KeepUploads: cfg.KeepUploads,
		Cleanups: []retention.Cleanup{
			{Name: "stale uploads", Run: data.uploads.AbortStale},
			{Name: "orphaned files", Run: data.datasets.RemoveOrphans},
		},
		EachProcess: data.objects.cache == nil, OnRemoved: metrics.observe, OnDone: metrics.turns.Inc, Log: b.log,
	})
}
