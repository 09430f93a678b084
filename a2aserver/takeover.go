package a2aserver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/internal/retry"
)

const (
	// maxTakeovers is how many hosts may die while they execute a run before the last try:
	// the run may be the cause.
	maxTakeovers = 3
	// maxAge is how long ago a run may have changed last to be resumed.
	maxAge = 24 * time.Hour
	// claimBatch is how many runs a host claims at once.
	claimBatch = 16
)

var (
	errAbandoned = errors.New("too many hosts died while executing the run")
	errExpired   = errors.New("too old to resume")
	// errInputTimeout says that a question to the user was not answered in time.
	errInputTimeout = errors.New("input timeout")
)

func (h *Host) acquireLease(ctx context.Context) error {
	lease, err := h.cfg.Log.AcquireLease(ctx, jobs.HostLease(h.id), h.id, h.cfg.Lease)
	if err == nil {
		h.lease.Store(&lease)
	}
	return err
}

// holdLease renews the host's lease, and claims runs without a live host.
func (h *Host) holdLease() {
	renewal := jobs.Renewal{TTL: h.cfg.Lease, Fenced: true, Renew: func(ctx context.Context) error {
		err := h.cfg.Log.RenewLease(ctx, *h.lease.Load(), h.cfg.Lease)
		if errors.Is(err, domain.ErrConflict) {
			err = h.acquireLease(ctx) // others have deleted it: this host could not renew it for long
		}
		h.logFailure("host lease renewal failed", err)
		return nil
	}}
	_ = renewal.Hold(h.ctx, func(context.Context) error {
		h.takeover.Run(h.ctx, func(woken bool) {
			if !woken {
				h.withTimeout("release of orphaned runs failed", h.releaseOrphans)
			}
			h.claimRuns()
		})
		return nil
	})
}

// withTimeout calls do with a time limit.
func (h *Host) withTimeout(failure string, do func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(h.ctx, h.cfg.Lease/3)
	defer cancel()
	h.logFailure(failure, do(ctx))
}

func (h *Host) logFailure(failure string, err error) {
	if err != nil && h.ctx.Err() == nil {
		h.cfg.Logger.Error(failure, "error", err)
	}
}

// releaseOrphans releases runs that this host owns in the log but does not execute:
// the answer of a claim or of an append was lost. They are claimed again like others.
func (h *Host) releaseOrphans(ctx context.Context) error {
	released, err := h.cfg.Log.ReleaseUnused(ctx, jobs.Runs, h.id, func(runID string) bool {
		f := h.broadcasters.find(runID)
		return f != nil && f.worker() != nil
	})
	if err != nil {
		return err
	}
	for _, runID := range released {
		h.cfg.Logger.Warn("orphaned run released", "run", runID)
	}
	return nil
}

// releaseAll releases all that this host holds, and then its lease.
func (h *Host) releaseAll(ctx context.Context) error {
	none := func(string) bool { return false }
	_, runs := h.cfg.Log.ReleaseUnused(ctx, jobs.Runs, h.id, none)
	_, pushes := h.cfg.Log.ReleaseUnused(ctx, jobs.Pushes, h.id, none)
	if lease := h.lease.Load(); lease != nil {
		if err := h.cfg.Log.ReleaseLease(ctx, *lease); !errors.Is(err, domain.ErrConflict) {
			return errors.Join(runs, pushes, err)
		}
	}
	return errors.Join(runs, pushes)
}

// listen receives notifications of changes by other processes.
func (h *Host) listen() {
	policy := retry.Policy{Initial: time.Second, Max: time.Second, Notify: func(err error, _ time.Duration) {
		if h.ctx.Err() == nil {
			h.cfg.Logger.Error("listen connection lost", "error", err)
		}
	}}
	_ = retry.Do(h.ctx, policy, func() error { return h.cfg.Log.Listen(h.ctx, h.onNotify) })
}

// pollInterval is how often the log is polled for runs that are followed here and
// execute elsewhere, in case a notification is lost.
const pollInterval = time.Second

// poll finds changes whose notification was lost.
func (h *Host) poll() {
	var followed []*broadcaster
	var ids []string
	for _, f := range h.broadcasters.all() {
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
		return // holdLease logs it
	}
	for _, f := range followed {
		number, ok := last[f.runID]
		if !ok {
			number = -1
		}
		f.setPolled(number)
	}
}

// onNotify handles a notification that another process changed a run; "" is any run.
func (h *Host) onNotify(runID string) {
	if runID == "" {
		for _, f := range h.broadcasters.all() {
			f.notify()
		}
		h.takeover.Wake()
		return
	}
	f := h.broadcasters.find(runID)
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

// stopIfEnded stops a run that was ended or deleted elsewhere. The notification may
// also be a late one of a change by the previous host.
func (h *Host) stopIfEnded(worker *run) {
	stored, err := h.cfg.Log.Task(h.ctx, worker.question.Caller, "", worker.question.RunID, false)
	if errors.Is(err, domain.ErrNotFound) || err == nil && !stored.Open {
		worker.stop(errCanceled)
	}
}

// claimRuns claims and resumes runs without a live host.
func (h *Host) claimRuns() {
	for h.ctx.Err() == nil && !h.draining.Load() {
		runs, last := h.queue.Stats(), h.lastTries.Stats()
		free := min(claimBatch, h.cfg.MaxRuns-runs.Running-runs.Waiting-last.Running-last.Waiting)
		if free <= 0 {
			return
		}
		var claimed []domain.ClaimedRun
		h.withTimeout("run takeover failed", func(ctx context.Context) (err error) {
			claimed, err = h.cfg.Log.ClaimRuns(ctx, h.id, slices.Sorted(maps.Keys(h.services)), h.cfg.InputTimeout, free)
			return err
		})
		for _, claim := range claimed {
			h.resume(claim)
		}
		if len(claimed) < free {
			return
		}
	}
}

// resume continues a run of another host.
func (h *Host) resume(claim domain.ClaimedRun) {
	s := h.services[claim.Task.Agent]
	task, unreadable := a2ajson.ReadTask(claim.Task)
	queue := h.queue
	if claim.Takeovers == maxTakeovers {
		queue = h.lastTries
	}
	r := h.newRun(s.agent, claim.Question, questionMessage(task), queue.AcquireUnbounded(claim.Question.Caller.Username))
	r.claimed, r.task, r.number, r.after = true, task, claim.Task.LastEvent, claim.Task.LastEvent
	if r.number > 0 {
		r.storedTask = task
	}
	unreadable = errors.Join(unreadable, readSettings(&r.question, r.message))
	close(r.committed)
	r.broadcaster.attach(r, r.number)
	h.cfg.Logger.Info("run resumed", "run", claim.Task.RunID, "agent", claim.Task.Agent, "takeovers", claim.Takeovers)
	h.runs.Go(func() {
		switch {
		case unreadable != nil:
			r.failUnstarted(unreadable, domain.RunFailed)
		case isWaiting(task.Status.State):
			r.failUnstarted(errInputTimeout, domain.RunExpired)
		case claim.Takeovers > maxTakeovers:
			r.failUnstarted(errAbandoned, domain.RunFailed)
		case claim.Age > maxAge:
			r.failUnstarted(errExpired, domain.RunExpired)
		default:
			r.work()
		}
	})
}

// failUnstarted fails a run without executing it.
func (r *run) failUnstarted(cause error, status domain.RunStatus) {
	defer close(r.ended)
	defer r.host.release(r)
	r.fail(cause, status)
}

// questionMessage returns the first user message of a task.
func questionMessage(task *a2a.Task) *a2a.Message {
	for _, message := range task.History {
		if message.Role == a2a.MessageRoleUser {
			return message
		}
	}
	return &a2a.Message{Role: a2a.MessageRoleUser}
}
