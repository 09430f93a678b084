package datasets

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/jobs"
)

// slowClaims are ingestions of one user, in records that answer when told to.
type slowClaims struct {
	Records
	asked    chan []string
	answer   chan struct{}
	released atomic.Int32
}

func (r *slowClaims) ClaimIngestion(_ context.Context, _ string, _ time.Duration, _ bool, except []string) (domain.IngestionJob, error) {
	r.asked <- except
	<-r.answer
	if len(except) > 0 {
		return domain.IngestionJob{}, domain.ErrNotFound
	}
	return domain.IngestionJob{Caller: domain.Caller{Username: "ann"}}, nil
}

func (r *slowClaims) ReleaseIngestion(context.Context, domain.IngestionJob) error {
	r.released.Add(1)
	return nil
}

// While records are slow to answer a claim, others can be made and ended; a user
// still has no more than may be.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := &slowClaims{asked: make(chan []string, 10), answer: make(chan struct{})}
		d := &Datasets{config: Config{Records: records, Ingestions: 3}, claims: new(fair.Counter), short: jobs.NewLoop(idle)}
		end, _ := d.claims.Open("bob", 1)
		var claimed, none atomic.Int32
		for range 3 {
			go func() {
				switch _, _, err := d.claim(t.Context()); {
				case err == nil:
					claimed.Add(1)
				case errors.Is(err, domain.ErrNotFound):
					none.Add(1)
				}
			}()
		}
		synctest.Wait()
		if len(records.asked) != 3 {
			t.Errorf("%d claims are made at once", len(records.asked))
		}
		end() // bob's ends, though nothing is answered
		close(records.answer)
		synctest.Wait()
		if claimed.Load() != 2 || none.Load() != 1 || records.released.Load() != 1 || d.claims.Total() != 2 {
			t.Errorf("%d claimed, %d released, %d open", claimed.Load(), records.released.Load(), d.claims.Total())
		}
	})
}

// lostLease has one ingestion, whose lease another process acquires before its first renewal.
type lostLease struct {
	Records
	renewals atomic.Int32
}

func (r *lostLease) ClaimIngestion(context.Context, string, time.Duration, bool, []string) (domain.IngestionJob, error) {
	return domain.IngestionJob{ID: "one", Files: []domain.UploadFile{{Key: "slow"}}}, nil
}

// RenewIngestion has no answer at first.
func (r *lostLease) RenewIngestion(ctx context.Context, _ domain.IngestionJob, _ time.Duration, _, _ int64) error {
	if r.renewals.Add(1) == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return domain.ErrConflict
}

func (r *lostLease) FailIngestion(context.Context, domain.IngestionJob, string) error {
	return domain.ErrConflict
}

// slowObjects takes as long as its caller waits.
type slowObjects struct{ Objects }

func (slowObjects) Source(ctx context.Context, _, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// An ingestion whose lease another process has ends, though a renewal had no answer, and is
// not logged as a failure.
func TestIngestionLeaseIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		records := &lostLease{}
		d := &Datasets{config: Config{
			Records: records, Objects: slowObjects{}, Ingestions: 3, Lease: time.Minute, Dir: dir,
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		}, claims: new(fair.Counter), short: jobs.NewLoop(idle)}
		began := time.Now()
		if !d.ingestNext(t.Context(), false) {
			t.Error("nothing was claimed")
		}
		if took := time.Since(began); took >= time.Minute || records.renewals.Load() != 2 {
			t.Errorf("it ended after %v and %d renewals", took, records.renewals.Load())
		}
		if text := log.String(); !strings.Contains(text, "lease lost") || strings.Contains(text, "WARN") || strings.Contains(text, "ERROR") {
			t.Errorf("it is logged as a failure:\n%s", text)
		}
	})
}
