package main

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/cmd/parley/internal/command"
	"parley/storage"
	"parley/storage/sqlstore"
)

// retentionSettings say how long things are kept.
type retentionSettings struct {
	KeepEvents  string `default:"forever" placeholder:"DURATION" help:"How long all events of a run are kept once it has ended, such as 30d; then a stream that is taken up again has the task instead (${default})."`
	KeepRuns    string `default:"forever" placeholder:"DURATION" help:"How long runs, and the records of ingestions, are kept (${default})."`
	KeepUploads string `default:"7d" placeholder:"DURATION" help:"How long uploaded files are kept once no ingestion is to read them (${default})."`
}

// retention is retentionSettings, read: 0 is for ever.
type retention struct {
	events, runs, uploads time.Duration
}

func (s retentionSettings) read(c *command.Checker) retention {
	return retention{
		events:  readAge(c, "keep-events", s.KeepEvents),
		runs:    readAge(c, "keep-runs", s.KeepRuns),
		uploads: readAge(c, "keep-uploads", s.KeepUploads),
	}
}

// minAge is the least for which anything is kept: what is at work on it is done
// by then.
const minAge = time.Hour

// readAge reads a duration, also in days; 0 is for ever.
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

const (
	// janitorEvery is how often what is no longer needed is removed.
	janitorEvery = time.Minute
	// janitorRest is how long nobody does so again: a little less, for the process
	// that did it to find it due.
	janitorRest = janitorEvery * 9 / 10
	// janitorLease is how long the process that is at it may be silent before
	// another begins.
	janitorLease = time.Minute
	// muchRemoved is so much at once that the database's own tidying up behind it
	// is not waited for.
	muchRemoved = 1000
)

// janitor removes what is no longer needed. Of all processes on a database one
// does at a time.
type janitor struct {
	store   *sqlstore.Store
	log     *slog.Logger
	keep    retention
	holder  string
	removed *prometheus.CounterVec
	turns   prometheus.Counter
	// chores are what it does besides; alone says that they are about what only
	// this process has, and are done whoever is the janitor.
	chores map[string]func(context.Context) error
	alone  bool
}

func newJanitor(store *sqlstore.Store, keep retention, registry *prometheus.Registry, log *slog.Logger) *janitor {
	j := &janitor{store: store, log: log, keep: keep, holder: uuid.Must(uuid.NewV7()).String()}
	j.removed = promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "parley_retention_removed_total",
		Help: "What was removed because of its age: runs whose events were, runs, upload sessions, records of ingestions.",
	}, []string{"what"})
	for _, what := range j.aging() {
		j.removed.WithLabelValues(what.name)
	}
	j.turns = promauto.With(registry).NewCounter(prometheus.CounterOpts{
		Name: "parley_retention_turns_total",
		Help: "How often this process removed what is old, for all on its database.",
	})
	return j
}

// aging is something that is kept for a time.
type aging struct {
	name string
	keep time.Duration
	// remove removes at most a batch of what is older.
	remove func(ctx context.Context, age time.Duration) (int, error)
}

func (j *janitor) aging() []aging {
	return []aging{
		{"events", j.keep.events, j.store.TrimEvents},
		{"runs", j.keep.runs, j.store.DeleteOldRuns},
		{"ingestions", j.keep.runs, j.store.DeleteOldIngestions},
		{"uploads", j.keep.uploads, j.store.DeleteOldUploads},
	}
}

// work tidies up now and then, until ctx ends.
func (j *janitor) work(ctx context.Context) {
	ticker := time.NewTicker(janitorEvery)
	defer ticker.Stop()
	for {
		if j.alone {
			j.tidy(ctx)
		}
		err := storage.DoChore(ctx, j.store, "janitor", j.holder, janitorLease, janitorRest, func(ctx context.Context) error {
			if !j.alone {
				j.tidy(ctx)
			}
			j.removeOld(ctx)
			j.turns.Inc()
			return nil
		})
		j.warn(ctx, "anything", err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (j *janitor) tidy(ctx context.Context) {
	for what, do := range j.chores {
		j.warn(ctx, what, do(ctx))
	}
}

func (j *janitor) removeOld(ctx context.Context) {
	total := 0
	for _, what := range j.aging() {
		if what.keep > 0 {
			count, err := j.age(ctx, what)
			j.warn(ctx, what.name, err)
			total += count
		}
	}
	if total >= muchRemoved {
		j.warn(ctx, "the room of what was removed", j.store.Reclaim(ctx))
	}
}

// age removes what is too old, a batch at a time, and rests after each for as
// long as it took: others have the database half of the time at least. It gives how
// much that was.
func (j *janitor) age(ctx context.Context, what aging) (total int, err error) {
	for {
		start := time.Now()
		count, err := what.remove(ctx, what.keep)
		if err != nil {
			return total, err
		}
		total += count
		j.removed.WithLabelValues(what.name).Add(float64(count))
		if count < sqlstore.RetentionBatch {
			return total, nil
		}
		rest := time.NewTimer(time.Since(start))
		select {
		case <-ctx.Done():
			rest.Stop()
			return total, nil
		case <-rest.C:
		}
	}
}

func (j *janitor) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		j.log.Warn("not tidied up", "what", what, "error", err)
	}
}
