package a2aserver

import (
	"errors"
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
	takeAtOnce = 64
)

var (
	errAbandoned = errors.New("too many hosts died at work on it")
	errExpired   = errors.New("too old to be taken up")
)

// keepAlive shows that the host lives, and takes up what others left.
func (h *Host) keepAlive() {
	ticker := time.NewTicker(h.Lease / 3)
	defer ticker.Stop()
	for {
		h.takeOver()
		select {
		case <-h.life.Done():
			return
		case <-h.left:
		case <-ticker.C:
			if err := h.Log.KeepHost(h.life, h.id, h.Lease); err != nil && h.life.Err() == nil {
				h.Logger.Error("the host could not show that it lives", "error", err)
			}
		}
	}
}

// listen hears of what other processes do to runs.
func (h *Host) listen() {
	for h.life.Err() == nil {
		err := h.Log.Listen(h.life, h.heard)
		if h.life.Err() != nil {
			return
		}
		h.Logger.Error("other processes cannot be heard", "error", err)
		select {
		case <-time.After(time.Second):
		case <-h.life.Done():
		}
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
	if worker := f.worker(); worker != nil {
		// Somebody else changed what this host works on: that can only be its
		// end.
		worker.stop(errCanceled)
	}
	f.poke()
}

// takeOver takes up runs that no living host works on.
func (h *Host) takeOver() {
	for h.life.Err() == nil {
		places := h.reserve()
		if places == 0 {
			return
		}
		taken, err := h.Log.TakeRuns(h.life, h.id, places)
		for range places - len(taken) {
			<-h.room
		}
		if err != nil {
			if h.life.Err() == nil {
				h.Logger.Error("runs could not be taken over", "error", err)
			}
			return
		}
		for _, held := range taken {
			h.resume(held)
		}
		if len(taken) < places {
			return
		}
	}
}

// reserve takes places for runs, as many as can be taken over at once.
func (h *Host) reserve() int {
	for places := range takeAtOnce {
		select {
		case h.room <- struct{}{}:
		default:
			return places
		}
	}
	return takeAtOnce
}

// resume goes on with a run that another host left. A place is reserved for it.
func (h *Host) resume(held storage.HeldRun) {
	s, ok := h.services[held.Task.Agent]
	if !ok {
		<-h.room
		h.Logger.Error("a run of an agent that is not here", "run", held.Task.RunID, "agent", held.Task.Agent)
		return
	}
	task, err := toTask(held.Task)
	if err != nil {
		<-h.room
		h.Logger.Error("a run cannot be taken up", "run", held.Task.RunID, "error", err)
		return
	}
	message := question(task)
	describe(&held.Asking.Question, message)
	r := h.newRun(s.agent, held.Asking, message)
	r.task, r.stored, r.number = task, task, held.Task.LastEvent
	close(r.started)
	r.feed.attach(r, r.number)
	h.Logger.Info("a run is taken up", "run", held.Task.RunID, "agent", held.Task.Agent, "takeovers", held.Takeovers)
	h.runs.Go(func() {
		switch {
		case held.Takeovers > maxTakeovers:
			r.giveUp(errAbandoned, storage.RunFailed)
		case time.Since(held.CreatedAt) > maxAge:
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
