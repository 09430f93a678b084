package a2aserver

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
	"parley/internal/fair"
)

// readTimeout is how long a request waits for memory that its user's other requests
// hold.
const readTimeout = 20 * time.Second

// reservation is the memory reserved by one request or stream for what it read. It holds
// one amount at a time, so that there is no deadlock. A nil one reserves nothing.
type reservation struct {
	queue *fair.Queue
	slot  *fair.Slot
	// untilEnd says that the memory is in use until the end of the call, or until another
	// amount is taken.
	untilEnd bool
}

type reservationKey struct{}

// withReservation adds a reservation to the context of a request.
func (c *Config) withReservation(ctx context.Context) (context.Context, *reservation) {
	r := &reservation{queue: c.Reads}
	return context.WithValue(ctx, reservationKey{}, r), r
}

func reservationFrom(ctx context.Context) *reservation {
	r, _ := ctx.Value(reservationKey{}).(*reservation)
	return r
}

// take replaces the reserved amount. The error is domain.ErrTooMany when the user has
// too much in memory.
func (r *reservation) take(ctx context.Context, user string, bytes int) error {
	r.release()
	if r == nil {
		return nil
	}
	slot, err := r.queue.AcquireN(user, bytes)
	if err != nil {
		return err
	}
	r.slot = slot
	return slot.WaitTimeout(ctx, readTimeout)
}

func (r *reservation) release() {
	if r != nil && r.slot != nil {
		r.slot.Release()
		r.slot = nil
	}
}

// sent releases what was taken, unless it is in use until the end.
func (r *reservation) sent() {
	if !r.untilEnd {
		r.release()
	}
}

func (h *Host) reserveTask(ctx context.Context, r *reservation, who domain.Caller, runID string) error {
	if r == nil {
		return nil
	}
	bytes, err := h.cfg.Log.ArtifactBytes(ctx, who, runID)
	if err != nil {
		return err
	}
	return r.take(ctx, who.Username, bytes)
}

// readTask decodes a stored task for a client, who gets what can be read of it.
func (h *Host) readTask(stored domain.Task) *a2a.Task {
	task, err := a2ajson.ReadTask(stored)
	if err != nil {
		h.cfg.Logger.Error("stored task unreadable", "run", stored.RunID, "error", err)
	}
	return task
}

// withHistory returns a task with at most the last messages of its history.
func withHistory(task *a2a.Task, length *int) *a2a.Task {
	if length == nil || *length >= len(task.History) {
		return task
	}
	cut := *task
	cut.History = task.History[len(task.History)-*length:]
	return &cut
}
