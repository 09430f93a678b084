package a2aserver

import (
	"context"
	"time"

	"parley/internal/fair"
	"parley/storage"
)

// readTimeout is how long a request waits until its user has few enough large answers
// in memory.
const readTimeout = 20 * time.Second

// reservation is what one request, or one stream, has in memory of what it read.
// It holds one amount at a time, so that nobody waits while others wait for them.
// A nil one holds nothing and never waits.
type reservation struct {
	queue *fair.Queue
	slot  *fair.Slot
}

type reservationKey struct{}

// withReservation gives a context in which a request reserves what it reads.
func (h *Config) withReservation(ctx context.Context) (context.Context, *reservation) {
	r := &reservation{queue: h.Reads}
	return context.WithValue(ctx, reservationKey{}, r), r
}

func reservationFrom(ctx context.Context) *reservation {
	r, _ := ctx.Value(reservationKey{}).(*reservation)
	return r
}

// take reserves an amount in place of the one before. The error is a
// storage.ErrTooMany where the user has too much in memory.
func (r *reservation) take(ctx context.Context, user string, bytes int) error {
	r.release()
	if r == nil {
		return nil
	}
	place, err := r.queue.AcquireN(user, bytes)
	if err != nil {
		return err
	}
	r.slot = place
	return place.WaitTimeout(ctx, readTimeout)
}

// release says that what was read is no longer in memory.
func (r *reservation) release() {
	if r != nil && r.slot != nil {
		r.slot.Release()
		r.slot = nil
	}
}

// reserveTask reserves what reading a task with its artifacts takes.
func (h *Host) reserveTask(ctx context.Context, r *reservation, who storage.Caller, runID string) error {
	if r == nil {
		return nil
	}
	bytes, err := h.cfg.Log.ArtifactBytes(ctx, who, runID)
	if err != nil {
		return err
	}
	return r.take(ctx, who.Username, bytes)
}
