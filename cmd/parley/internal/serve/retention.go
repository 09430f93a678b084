package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/storage/retention"
)

// keepUploads is how long uploaded files are kept after no ingestion needs them.
const keepUploads = 7 * 24 * time.Hour

// newRetention returns what removes old records, stale uploads and orphaned files.
func (s *server) newRetention(data *dataPlane) *retention.Retention {
	removed := newCounters(s.registry, "parley_retention_removed_total",
		"What was removed because of its age: runs whose events were, runs, upload sessions, records of ingestions, claims of users.", "what", retention.Kinds()...)
	turns := promauto.With(s.registry).NewCounter(prometheus.CounterOpts{
		Name: "parley_retention_turns_total",
		Help: "How often this process removed what is old, for all on its database.",
	})
	return retention.New(retention.Config{
		Store: s.store, KeepEvents: s.KeepEvents, KeepRuns: s.KeepRuns, KeepUploads: keepUploads,
		Cleanups: []retention.Cleanup{
			{Name: "stale uploads", Run: data.uploads.AbortStale},
			{Name: "orphaned files", Run: data.datasets.RemoveOrphans},
		},
		EachProcess: data.objects.cache == nil, OnDone: turns.Inc, Log: s.log,
		OnRemoved: func(kind retention.Kind, count int) { removed.WithLabelValues(string(kind)).Add(float64(count)) },
	})
}
