package datasets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/jobs"
	"parley/storage/datasets/ingest"
)

// idle is the pause between searches for ingestions that another process created or left.
const idle = 5 * time.Second

// Wake starts the next search for ingestions at once.
func (d *Datasets) Wake() {
	d.usual.Wake()
	d.short.Wake()
}

// RunIngestions runs ingestions of all users until ctx ends and the running ones have
// stopped. A stopped one is run again later. While all usual slots are in use, one more
// ingestion runs that is short.
func (d *Datasets) RunIngestions(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	run := func(loop *jobs.Loop, short bool) {
		group.Go(func() {
			loop.Run(ctx, func(bool) {
				for d.ingestNext(ctx, short) {
					d.Wake() // there may be more than this one can do
				}
			})
		})
	}
	for range d.config.Ingestions {
		run(d.usual, false)
	}
	run(d.short, true)
}

// claim claims an ingestion of a user who is below the limit. The caller calls done at the
// end.
func (d *Datasets) claim(ctx context.Context) (job domain.IngestionJob, done func(), err error) {
	most := allButOne(d.config.Ingestions)
	for {
		job, err = d.config.Records.ClaimIngestion(ctx, d.holder, d.config.Lease, false, d.claims.AtLimit(most))
		if err != nil {
			return job, nil, err
		}
		if done, ok := d.claims.Open(job.Caller.Username, most); ok {
			d.short.Wake() // others may wait that are short
			return job, done, nil
		}
		// Another of the user's was claimed here at the same time.
		if err := d.config.Records.ReleaseIngestion(ctx, job); err != nil {
			return job, nil, err
		}
	}
}

// claimShort claims an ingestion of a user who has used little lately, when no usual slot is
// free. Small ones do not wait for those of many new users, and nobody waits for many small ones:
// it is the smallest and that of the next user by turns.
func (d *Datasets) claimShort(ctx context.Context) (domain.IngestionJob, func(), error) {
	if d.claims.Total() < d.config.Ingestions {
		return domain.IngestionJob{}, nil, domain.ErrNotFound
	}
	meter := &d.config.Ingester.lanes.meter
	smallest := d.shortClaims.Add(1)%2 == 1
	job, err := d.config.Records.ClaimIngestion(ctx, d.holder, d.config.Lease, smallest, meter.usage.Heavy(meter.most))
	return job, func() {}, err
}

// ingestNext runs an ingestion, false when there is none.
func (d *Datasets) ingestNext(ctx context.Context, short bool) bool {
	claim := d.claim
	if short {
		claim = d.claimShort
	}
	job, done, err := claim(ctx)
	switch {
	case errors.Is(err, domain.ErrNotFound), ctx.Err() != nil:
		return false
	case errors.Is(err, domain.ErrConflict):
		return true
	case err != nil:
		d.config.Log.ErrorContext(ctx, "ingestion not claimed", "error", err)
		return false
	}
	defer done()
	ctx = fair.WithUser(ctx, job.Caller.Username)
	log := d.config.Log.With("ingestion", job.ID)
	start := time.Now()
	retrying := d.retrying(log)
	err = retrying.ingest(ctx, job, short, log)
	switch {
	case err == nil:
		log.InfoContext(ctx, "ingestion completed", "took", time.Since(start))
		if !short {
			d.compactAfter(ctx, job)
		}
	case ctx.Err() != nil, errors.Is(err, errLong):
		released := jobs.Release(ctx, func(ctx context.Context) error { return d.config.Records.ReleaseIngestion(ctx, job) })
		log.InfoContext(ctx, "ingestion interrupted", "released", released == nil, "reason", err)
		if errors.Is(err, errLong) {
			// It may have had no worker, and would be claimed and interrupted again.
			meter := &d.config.Ingester.lanes.meter
			meter.usage.Add(job.Caller.Username, max(0, wasted*meter.slice-meter.usage.Of(job.Caller.Username)))
		}
	default:
		recorded := retrying.config.Records.FailIngestion(ctx, job, reasonOf(err))
		if errors.Is(recorded, domain.ErrConflict) {
			log.InfoContext(ctx, "ingestion lease lost: another process has it", "error", err)
			break
		}
		log.WarnContext(ctx, "ingestion failed", "error", err, "took", time.Since(start))
		if recorded != nil {
			log.ErrorContext(ctx, "failed ingestion not recorded", "error", recorded)
		}
	}
	return true
}

// reasonOf returns the message for the user.
func reasonOf(err error) string {
	var known *domain.Error
	switch {
	case errors.As(err, &known):
		return known.Message
	case errors.Is(err, domain.ErrNotFound):
		return "the dataset, or a file, is no longer there"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return "there is no room left on the server's disk; try again later"
	case errors.Is(err, domain.ErrUnavailable):
		return "the files could not be reached; try again"
	}
	return "something went wrong here; try again"
}

func (d *Datasets) ingest(ctx context.Context, job domain.IngestionJob, short bool, log *slog.Logger) error {
	if short {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.config.Ingester.lanes.meter.timeout, errLong)
		defer cancel()
	}
	var dir string
	var done func()
	err := retryWhileUnavailable(ctx, log, func() (err error) {
		dir, done, err = d.workDir()
		return err
	})
	if err != nil {
		return err
	}
	defer done()
	a := addition{
		caller: job.Caller, datasetID: job.DatasetID, dir: dir, replace: job.Mode == domain.IngestReplace, options: job.Options,
		ingestion: &domain.IngestionEnd{ID: job.ID, Lease: job.Lease}, short: short,
	}
	err = d.addWithLease(ctx, job, &a)
	if err != nil && (errors.Is(context.Cause(ctx), errLong) || short && unavailable(err)) {
		err = errLong // an outage ends a short one before its time, if no more attempt fits in
	}
	return err
}

func (d *Datasets) compactAfter(ctx context.Context, job domain.IngestionJob) {
	data, err := d.config.Records.DatasetDataByID(ctx, job.Caller, job.DatasetID)
	if err == nil {
		d.compactSoon(ctx, data.ID, data.Owner, len(data.Files))
	}
}

// addWithLease adds an ingestion's rows, and renews its lease with the progress.
func (d *Datasets) addWithLease(ctx context.Context, job domain.IngestionJob, a *addition) error {
	var bytes, rows, total atomic.Int64
	a.progress = func(p ingest.Progress) {
		if a.short {
			return // it may start again
		}
		// Extracted rows have been counted, and have another size.
		bytes.Store(max(bytes.Load(), min(p.Bytes, total.Load())))
		rows.Store(max(rows.Load(), p.Rows))
	}
	a.extracted = func(source int, share float64, found int64) {
		read := share * float64(job.Files[source].Size)
		for _, file := range job.Files[:source] {
			read += float64(file.Size)
		}
		bytes.Store(int64(read))
		rows.Store(found)
	}
	renewal := jobs.Renewal{TTL: d.config.Lease, Interval: progressShown, Fenced: true, Renew: func(ctx context.Context) error {
		return d.config.Records.RenewIngestion(ctx, job, d.config.Lease, bytes.Load(), rows.Load())
	}}
	return renewal.Hold(ctx, func(ctx context.Context) error {
		for i, file := range job.Files {
			total.Add(file.Size)
			sub := filepath.Join(a.dir, fmt.Sprint("source", i))
			if err := os.Mkdir(sub, 0o700); err != nil {
				return fmt.Errorf("make a folder for a source: %w", err)
			}
			path, err := d.config.Objects.Source(ctx, file.Key, sub)
			if err != nil {
				return err
			}
			a.sources = append(a.sources, ingest.Source{Path: path, Name: file.Filename})
		}
		if err := d.extractSources(ctx, a); err != nil {
			return err
		}
		return d.add(ctx, *a)
	})
}

// progressShown is the interval between updates of an ingestion's progress.
const progressShown = 2 * time.Second
