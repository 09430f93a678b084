package lake

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/storage"
)

// slowClaims are ingestions of one user, in records that answer when told to.
type slowClaims struct {
	Records
	asked    chan []string
	answer   chan struct{}
	released atomic.Int32
}

func (r *slowClaims) ClaimIngestion(_ context.Context, _ string, _ time.Duration, except ...string) (storage.IngestionJob, error) {
	r.asked <- except
	<-r.answer
	if len(except) > 0 {
		return storage.IngestionJob{}, storage.ErrNotFound
	}
	return storage.IngestionJob{Caller: storage.Caller{Username: "ann"}}, nil
}

func (r *slowClaims) ReleaseIngestion(context.Context, storage.IngestionJob) error {
	r.released.Add(1)
	return nil
}

// While records are slow to answer a claim, others can be made and ended; a user
// still has no more than may be.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := &slowClaims{asked: make(chan []string, 10), answer: make(chan struct{})}
		d := &Datasets{config: DatasetsConfig{Records: records, Ingestions: 3}, claims: claims{users: map[string]int{"bob": 1}}}
		var claimed, none atomic.Int32
		for range 3 {
			go func() {
				switch _, _, err := d.claim(t.Context(), "me"); {
				case err == nil:
					claimed.Add(1)
				case errors.Is(err, storage.ErrNotFound):
					none.Add(1)
				}
			}()
		}
		synctest.Wait()
		if len(records.asked) != 3 {
			t.Errorf("%d claims are made at once", len(records.asked))
		}
		d.claims.done("bob") // ends, though nothing is answered
		close(records.answer)
		synctest.Wait()
		if claimed.Load() != 2 || none.Load() != 1 || records.released.Load() != 1 || d.claims.users["ann"] != 2 {
			t.Errorf("%d claimed, %d released, %v", claimed.Load(), records.released.Load(), d.claims.users)
		}
	})
}
