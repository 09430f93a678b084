package serve

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/cmd/parley/internal/command"
	"parley/storage/retention"
	"parley/storage/sqlstore"
)

// retentionSettings say how long things are kept.
type retentionSettings struct {
	KeepEvents  string `default:"forever" placeholder:"DURATION" help:"How long all events of an ended run are kept, such as 30d (${default}). A stream that resumes later gets the task instead."`
	KeepRuns    string `default:"forever" placeholder:"DURATION" help:"How long runs and the records of ingestions are kept (${default})."`
	KeepUploads string `default:"7d" placeholder:"DURATION" help:"How long uploaded files are kept after no ingestion needs them (${default})."`
}

// retentionConfig is retentionSettings, parsed: 0 is forever.
type retentionConfig struct {
	events, runs, uploads time.Duration
}

func (s retentionSettings) read(c *command.Checker) retentionConfig {
	return retentionConfig{
		events:  readAge(c, "keep-events", s.KeepEvents),
		runs:    readAge(c, "keep-runs", s.KeepRuns),
		uploads: readAge(c, "keep-uploads", s.KeepUploads),
	}
}

// minAge is the shortest retention: nothing uses a record for that long.
const minAge = time.Hour

// readAge reads a duration, also in days; 0 is forever.
func readAge(c *command.Checker, flag, text string) time.Duration {
	if text == "forever" {
		return 0
	}
	age, err := time.ParseDuration(text)
	if days, inDays := strings.CutSuffix(text, "d"); inDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age < minAge {
		c.Refuse(flag, "must be forever, or a duration such as 90d or 12h, an hour at least, not %q", text)
	}
	return age
}

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
func newRetention(keep retentionConfig, b base, data *dataPlane) *retention.Retention {
	metrics := newRetentionMetrics(b.registry)
	return retention.New(retention.Config{
		Store: b.store, Batch: sqlstore.RetentionBatch, KeepEvents: keep.events, KeepRuns: keep.runs, KeepUploads: keep.uploads,
		Cleanups: []retention.Cleanup{
			{Name: "stale uploads", Run: data.uploads.AbortStale},
			{Name: "orphaned files", Run: data.datasets.RemoveOrphans},
		},
		EachProcess: data.objects.cache == nil, OnRemoved: metrics.observe, OnDone: metrics.turns.Inc, Log: b.log,
	})
}
