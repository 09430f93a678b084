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
	// takeAtOnce is how many runs a host takes over in one go.
	takeAtOnce = 16
)

var (
	errAbandoned = errors.New("too many hosts died at work on it")
	errExpired   = errors.New("too old to be taken up")
)

// keepAlive shows that the host lives, and takes up what others left.
func (h *Host) keepAlive() {
	ticker := time.NewTicker(h.cfg.Lease / 3)
	defer ticker.Stop()
	for {
		h.takeOver()
		select {
		case <-h.life.Done():
			return
		case <-h.left:
		case <-ticker.C:
			h.briefly("the host could not show that it lives", func(ctx context.Context) error {
				return h.cfg.Log.KeepHost(ctx, h.id, h.cfg.Lease)
			})
			h.briefly("runs could not be looked for", h.leaveOrphans)
		}
	}
}

// briefly does something that must not keep the host from showing that it lives.
func (h *Host) briefly(failure string, do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(h.life, h.cfg.Lease/3)
	defer cancel()
	if err := do(ctx); err != nil && h.life.Err() == nil {
		h.cfg.Logger.Error(failure, "error", err)
	}
}

// leaveOrphans lets go of runs that are this host's by the log, and that nobody
// here works on: the log's word that they were taken, or that an event was kept,
// was lost. They are taken up again like others.
func (h *Host) leaveOrphans(ctx context.Context) error {
	held, err := h.cfg.Log.RunsOf(ctx, h.id)
	if err != nil {
		return err
	}
	for _, runID := range held {
		if f := h.feeds.find(runID); f != nil && f.worker() != nil {
			continue
		}
		h.cfg.Logger.Warn("a run that nobody works on is left to others", "run", runID)
		if err := h.cfg.Log.LeaveRun(ctx, h.id, runID); err != nil {
			return err
		}
	}
	return nil
}

// listen hears of what other processes do to runs.
func (h *Host) listen() {
	for h.life.Err() == nil {
		err := h.cfg.Log.Listen(h.life, h.heard)
		if h.life.Err() != nil {
			return
		}
		h.cfg.Logger.Error("other processes cannot be heard", "error", err)
		select {
		case <-time.After(time.Second):
		case <-h.life.Done():
		}
	}
}

// pollEvery is how often the log is looked at for runs that are followed here and
// worked on elsewhere, should they not be heard of.
const pollEvery = time.Second

// poll looks for what was not heard.
func (h *Host) poll() {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-h.life.Done():
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
		if f.elsewhere() {
			followed, ids = append(followed, f), append(ids, f.runID)
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(h.life, h.cfg.Lease/3)
	defer cancel()
	last, err := h.cfg.Log.LastEvents(ctx, ids)
	if err != nil {
		return // there is nothing to hear; keepAlive says so
	}
	for _, f := range followed {
		number, ok := last[f.runID]
		if !ok {
			number = -1
		}
		f.polls(number)
	}
}

// heard is told that another process has changed a run; "" for any.
func (h *Host) heard(runID string) {
	if runID == "" {
		for _, f := range h.feeds.all() {
			f.poke()
		}
		select {
		case h.left <- struct{}{}:
		default:
		}
		return
	}
	f := h.feeds.find(runID)
	if f == nil {
		return
	}
	if worker := f.worker(); worker != nil && h.enter() {
		go func() {
			defer h.runs.Done()
			h.stopIfEnded(worker)
		}()
	}
	f.poke()
}

// stopIfEnded stops the work on a run that somebody else has ended or deleted. It
// may also have been changed by the host before, which is heard of only now.
func (h *Host) stopIfEnded(worker *run) {
	kept, err := h.cfg.Log.Task(h.life, worker.asking.Caller, "", worker.asking.RunID, false)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !kept.Open {
		worker.stop(errCanceled)
	}
}

// takeOver takes up runs that no living host works on.
func (h *Host) takeOver() {
	for h.life.Err() == nil && !h.draining.Load() {
		line := h.line.Stats()
		places := min(takeAtOnce, h.cfg.MaxRuns-line.Running-line.Waiting)
		if places <= 0 {
			return
		}
		var taken []storage.HeldRun
		h.briefly("runs could not be taken over", func(ctx context.Context) (err error) {
			taken, err = h.cfg.Log.TakeRuns(ctx, h.id, h.names(), places)
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

// names are those of the agents here.
func (h *Host) names() []string { return slices.Collect(maps.Keys(h.services)) }

// resume goes on with a run that another host left.
func (h *Host) resume(held storage.HeldRun) {
	s := h.services[held.Task.Agent]
	task, unreadable := toTask(held.Task)
	if unreadable != nil {
		task = &a2a.Task{}
	}
	message := question(task)
	describe(&held.Asking.Question, message)
	r := h.newRun(s.agent, held.Asking, message, h.line.Rejoin(held.Asking.Caller.Username))
	r.task, r.number = task, held.Task.LastEvent
	if r.number > 0 {
		r.stored = task
	}
	close(r.started)
	r.feed.attach(r, r.number)
	h.cfg.Logger.Info("a run is taken up", "run", held.Task.RunID, "agent", held.Task.Agent, "takeovers", held.Takeovers)
	h.runs.Go(func() {
		switch {
		case unreadable != nil:
			r.giveUp(unreadable, storage.RunFailed)
		case held.Takeovers > maxTakeovers:
			r.giveUp(errAbandoned, storage.RunFailed)
		case held.Age > maxAge:
			r.giveUp(errExpired, storage.RunExpired)
		default:
			r.work()
		}
	})
}

// giveUp ends a run that is not worked on again.
func (r *run) giveUp(cause error, status storage.RunStatus) {
	defer close(r.ended)
	defer r.host.release(r)
	r.fail(cause, status)
}

// question is the message that a task began with.
func question(task *a2a.Task) *a2a.Message {
	for _, message := range task.History {
		if message.Role == a2a.MessageRoleUser {
			return message
		}
	}
	return &a2a.Message{Role: a2a.MessageRoleUser}
}
