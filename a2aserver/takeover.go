package a2aserver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

const (
	// maxTakeovers is how many hosts may die at work on a run before it fails: it
	// may be what they die of.
	maxTakeovers = 3
	// maxAge is how old a run may be to be taken up again.
	maxAge = 24 * time.Hour
	// claimBatch is how many runs a host takes over in one go.
	claimBatch = 16
)

var (
	errAbandoned = errors.New("too many hosts died at work on it")
	errExpired   = errors.New("too old to be taken up")
)

// renewLease shows that the host lives, and takes up what others left.
func (h *Host) renewLease() {
	ticker := time.NewTicker(h.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		h.claimRuns()
		select {
		case <-h.ctx.Done():
			return
		case <-h.wakeTakeover:
		case <-ticker.C:
			h.withTimeout("the host could not show that it lives", func(ctx context.Context) error {
				return h.cfg.Log.RenewHost(ctx, h.id, h.cfg.Lease)
			})
			h.withTimeout("runs could not be looked for", h.releaseOrphans)
		}
	}
}

// withTimeout does something that must not keep the host from showing that it lives.
func (h *Host) withTimeout(failure string, do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(h.ctx, h.cfg.Lease/3)
	defer cancel()
	if err := do(ctx); err != nil && h.ctx.Err() == nil {
		h.cfg.Logger.Error(failure, "error", err)
	}
}

// releaseOrphans lets go of runs that are this host's by the log, and that nobody
// here works on: the log's word that they were taken, or that an event was kept,
// was lost. They are taken up again like others.
func (h *Host) releaseOrphans(ctx context.Context) error {
	held, err := h.cfg.Log.HostRuns(ctx, h.id)
	if err != nil {
		return err
	}
	for _, runID := range held {
		if f := h.feeds.find(runID); f != nil && f.worker() != nil {
			continue
		}
		h.cfg.Logger.Warn("a run that nobody works on is left to others", "run", runID)
		if err := h.cfg.Log.ReleaseRun(ctx, h.id, runID); err != nil {
			return err
		}
	}
	return nil
}

// listen hears of what other processes do to runs.
func (h *Host) listen() {
	for h.ctx.Err() == nil {
		err := h.cfg.Log.Listen(h.ctx, h.onNotify)
		if h.ctx.Err() != nil {
			return
		}
		h.cfg.Logger.Error("other processes cannot be heard", "error", err)
		select {
		case <-time.After(time.Second):
		case <-h.ctx.Done():
		}
	}
}

// pollInterval is how often the log is looked at for runs that are followed here and
// worked on elsewhere, should they not be heard of.
const pollInterval = time.Second

// poll looks for what was not heard.
func (h *Host) poll() {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-ticker.C:
			h.pollOnce()
		}
	}
}

func (h *Host) pollOnce() {
	var followed []*feed
	var ids []string
	for _, f := range h.feeds.all() {
		if f.remoteFollowed() {
			followed, ids = append(followed, f), append(ids, f.runID)
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(h.ctx, h.cfg.Lease/3)
	defer cancel()
	last, err := h.cfg.Log.LastEvents(ctx, ids)
	if err != nil {
		return // there is nothing to hear; renewLease says so
	}
	for _, f := range followed {
		number, ok := last[f.runID]
		if !ok {
			number = -1
		}
		f.setPolled(number)
	}
}

// onNotify is told that another process has changed a run; "" for any.
func (h *Host) onNotify(runID string) {
	if runID == "" {
		for _, f := range h.feeds.all() {
			f.notify()
		}
		select {
		case h.wakeTakeover <- struct{}{}:
		default:
		}
		return
	}
	f := h.feeds.find(runID)
	if f == nil {
		return
	}
	if worker := f.worker(); worker != nil && h.addRun() {
		go func() {
			defer h.runs.Done()
			h.stopIfEnded(worker)
		}()
	}
	f.notify()
}

// stopIfEnded stops the work on a run that somebody else has ended or deleted. It
// may also have been changed by the host before, which is heard of only now.
func (h *Host) stopIfEnded(worker *run) {
	kept, err := h.cfg.Log.Task(h.ctx, worker.request.Caller, "", worker.request.RunID, false)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !kept.Open {
		worker.stop(errCanceled)
	}
}

// claimRuns takes up runs that no living host works on.
func (h *Host) claimRuns() {
	for h.ctx.Err() == nil && !h.draining.Load() {
		line := h.queue.Stats()
		places := min(claimBatch, h.cfg.MaxRuns-line.Running-line.Waiting)
		if places <= 0 {
			return
		}
		var taken []storage.ClaimedRun
		h.withTimeout("runs could not be taken over", func(ctx context.Context) (err error) {
			taken, err = h.cfg.Log.ClaimRuns(ctx, h.id, h.agentNames(), places)
			return err
		})
		for _, held := range taken {
			h.resume(held)
		}
		if len(taken) < places {
			return
		}
	}
}

// agentNames are those of the agents here.
func (h *Host) agentNames() []string { return slices.Collect(maps.Keys(h.services)) }

// resume goes on with a run that another host left.
func (h *Host) resume(held storage.ClaimedRun) {
	s := h.services[held.Task.Agent]
	task, unreadable := toTask(held.Task)
	if unreadable != nil {
		task = &a2a.Task{}
	}
	message := questionMessage(task)
	readSettings(&held.Request.Question, message)
	r := h.newRun(s.agent, held.Request, message, h.queue.AcquireUnbounded(held.Request.Caller.Username))
	r.task, r.number = task, held.Task.LastEvent
	if r.number > 0 {
		r.storedTask = task
	}
	close(r.committed)
	r.feed.attach(r, r.number)
	h.cfg.Logger.Info("a run is taken up", "run", held.Task.RunID, "agent", held.Task.Agent, "takeovers", held.Takeovers)
	h.runs.Go(func() {
		switch {
		case unreadable != nil:
			r.failUnstarted(unreadable, storage.RunFailed)
		case held.Takeovers > maxTakeovers:
			r.failUnstarted(errAbandoned, storage.RunFailed)
		case held.Age > maxAge:
			r.failUnstarted(errExpired, storage.RunExpired)
		default:
			r.work()
		}
	})
}

// failUnstarted ends a run that is not worked on again.
func (r *run) failUnstarted(cause error, status storage.RunStatus) {
	defer close(r.ended)
	defer r.host.release(r)
	r.fail(cause, status)
}

// questionMessage is the message that a task began with.
func questionMessage(task *a2a.Task) *a2a.Message {
	for _, message := range task.History {
		if message.Role == a2a.MessageRoleUser {
			return message
		}
	}
	return &a2a.Message{Role: a2a.MessageRoleUser}
}
