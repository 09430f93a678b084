package push

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/internal/safehttp"
	"parley/internal/seal"
)

const (
	// maxSending is how many configs a host sends at a time, of which ownerSending are of
	// one owner and receiverSending to one receiver: slow receivers keep no others waiting. The
	// only config of an owner does not wait for those of others to its receiver.
	maxSending, ownerSending, receiverSending = 64, 8, 16
	// candidates limits the configs that are read to find those that may be sent. Fewer than
	// these may not: see sqlstore.Store.ClaimPushes.
	candidates = 100
	// maxWaiting limits the configs that wait for room in memory. A search of all is for many
	// deliveries: its cost grows with the number of configs.
	maxWaiting = 4 * candidates
	// pollInterval is the interval between searches for configs without a notification: those
	// whose pause is over or whose host died, or whose notification was lost.
	pollInterval = 2 * time.Second
	// batchInterval is how long the sender waits for further events before it reads what to
	// send.
	batchInterval = 10 * time.Millisecond
	// maxChanged is how many changed runs are searched by id, rather than all.
	maxChanged = 100
	// storeTimeout limits an operation of the store.
	storeTimeout = 10 * time.Second
	// postTimeout is how long a receiver may take to receive an event.
	postTimeout = 15 * time.Second
)

// Log has the events of runs, and what is to be sent of them.
// Package sqlstore describes the methods.
type Log interface {
	OpenPushes(ctx context.Context) (bool, error)
	DuePushes(ctx context.Context, holder string, runIDs []string, limit int) ([]domain.DuePush, error)
	ClaimPushes(ctx context.Context, holder string, due []domain.DuePush) ([]domain.Push, error)
	AdvancePush(ctx context.Context, holder string, push domain.Push, position int64) error
	ReleasePush(ctx context.Context, holder string, push domain.Push, result domain.PushResult) error
	ReleaseUnused(ctx context.Context, kind jobs.Kind, host string, used func(key string) bool) ([]string, error)
	Task(ctx context.Context, caller domain.Caller, agent, runID string, artifacts bool) (domain.Task, error)
	Events(ctx context.Context, caller domain.Caller, runID string, after int64) ([]domain.Event, error)
	EventBytes(ctx context.Context, caller domain.Caller, runID string, after int64) (int, error)
}

// Outcome is the result of an attempt to send.
type Outcome string

// The outcomes. After a config is given up, nothing is sent to it.
const (
	Delivered Outcome = "delivered"
	Failed    Outcome = "failed"
	GivenUp   Outcome = "given_up"
)

// Outcomes lists all outcomes.
func Outcomes() []Outcome { return []Outcome{Delivered, Failed, GivenUp} }

// Config is what a Sender needs.
type Config struct {
	Log Log
	// Holder is the host that sends. The caller renews its lease and, at the end, releases what
	// it holds: see package jobs.
	Holder string
	// Policy says what may be called.
	Policy safehttp.Policy
	// Secrets decrypts the secrets of configs.
	Secrets *seal.Box
	// Encode returns an event, or a task, as the receiver of a config reads it.
	Encode func(config domain.PushConfig, event domain.Event) (domain.Event, error)
	// Task returns a run's task as it is, with the number of its last event. release frees
	// its memory.
	Task func(ctx context.Context, caller domain.Caller, runID string) (task domain.Event, release func(), err error)
	// Reserve waits for memory for what is read for a user.
	Reserve func(ctx context.Context, user string, bytes int) (release func(), err error)
	// GiveUpAfter is how long a receiver may fail.
	GiveUpAfter time.Duration
	// Observe is called with the outcome of each attempt; it may be nil.
	Observe func(Outcome)
	Logger  *slog.Logger
}

// Sender sends the events of runs.
type Sender struct {
	cfg    Config
	client *http.Client
	loop   *jobs.Loop
	// open says that some config may have something to send, as far as is known.
	open atomic.Bool
	work sync.WaitGroup

	mu sync.Mutex
	// changed are the runs that may have something to send; all says that any may.
	changed map[string]struct{}
	all     bool
	// sending are the configs that are being sent. owners and receivers count them. waiting
	// are those for which there was no room; more says that the log may have others.
	sending           map[string]domain.DuePush
	owners, receivers map[string]int
	waiting           []domain.DuePush
	more              bool
}

// New makes a Sender. Run starts it.
func New(cfg Config) *Sender {
	return &Sender{
		cfg:     cfg,
		client:  safehttp.NewClient(safehttp.Config{Policy: cfg.Policy, Timeout: postTimeout}),
		loop:    jobs.NewLoop(pollInterval),
		changed: map[string]struct{}{}, sending: map[string]domain.DuePush{}, owners: map[string]int{}, receivers: map[string]int{},
	}
}

// Added says that a run has a new config.
func (s *Sender) Added(runID string) {
	s.open.Store(true)
	s.Notify(runID)
}

// Notify says that there are new events of a run; "" for any. It does not block.
func (s *Sender) Notify(runID string) {
	if !s.open.Load() {
		return
	}
	s.mu.Lock()
	if s.all = s.all || runID == "" || len(s.changed) == maxChanged; !s.all {
		s.changed[runID] = struct{}{}
	}
	s.mu.Unlock()
	s.loop.Wake()
}

// Run sends until ctx ends, and waits for what is being sent.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	defer s.work.Wait()
	s.loop.Run(ctx, func(woken bool) {
		if !woken {
			s.poll(ctx)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(batchInterval):
			s.sendDue(ctx)
		}
	})
}

// poll asks the store whether there is anything to send, now or later. It releases the configs
// that this host holds in the log and does not send.
func (s *Sender) poll(ctx context.Context) {
	s.inStore(ctx, "push poll failed", func(ctx context.Context) error {
		open, err := s.cfg.Log.OpenPushes(ctx)
		if err != nil {
			return err
		}
		s.open.Store(open)
		if open {
			_, err = s.cfg.Log.ReleaseUnused(ctx, jobs.Pushes, s.cfg.Holder, s.isSending)
		}
		return err
	})
	s.Notify("")
}

// inStore does something in the store, in time, and logs its failure.
func (s *Sender) inStore(ctx context.Context, failure string, do func(ctx context.Context) error) {
	bounded, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := do(bounded); err != nil && ctx.Err() == nil {
		s.cfg.Logger.Error(failure, "error", err)
	}
}

// sendDue begins to send what is due of the runs that changed, as far as there is room.
func (s *Sender) sendDue(ctx context.Context) {
	due, runIDs, search := s.takeChanged()
	if !search && len(due) == 0 {
		return
	}
	s.inStore(ctx, "push claim failed", func(claiming context.Context) error {
		if search {
			found, err := s.cfg.Log.DuePushes(claiming, s.cfg.Holder, runIDs, candidates)
			if err != nil {
				return err // the next poll finds those that waited too
			}
			due = append(due, found...)
		}
		due = s.admit(due, search && len(runIDs) == 0 && len(due) >= candidates)
		if len(due) == 0 {
			return nil
		}
		claimed, err := s.cfg.Log.ClaimPushes(claiming, s.cfg.Holder, due)
		for _, push := range claimed {
			due = slices.DeleteFunc(due, func(other domain.DuePush) bool { return other.Key() == push.Key() })
			s.work.Go(func() {
				defer s.leave(push.Key())
				s.send(ctx, push)
			})
		}
		for _, push := range due { // others claimed them
			s.leave(push.Key())
		}
		return err
	})
}

// takeChanged returns the configs that wait for room, and the runs that changed since the last
// time, none for all. search is false when nothing changed. Without room to send there is
// nothing.
func (s *Sender) takeChanged() (waiting []domain.DuePush, runIDs []string, search bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sending) >= maxSending {
		return nil, nil, false
	}
	search = s.all || len(s.changed) > 0
	if !s.all {
		// Those of a search of all are found again.
		waiting, runIDs = s.waiting, slices.Collect(maps.Keys(s.changed))
	}
	clear(s.changed)
	s.all, s.waiting = false, nil
	return waiting, runIDs, search
}

// admit takes room for those of some configs that may be sent now, and keeps the others. more
// says that there are further ones in the log.
func (s *Sender) admit(due []domain.DuePush, more bool) (admitted []domain.DuePush) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.more = s.more || more
	seen := make(map[string]bool, len(due)) // one that waited may be found again
	for _, push := range due {
		key := push.Key()
		if _, already := s.sending[key]; already || seen[key] {
			continue
		}
		seen[key] = true
		owned := s.owners[push.Owner]
		if len(s.sending) >= maxSending || owned >= ownerSending || owned > 0 && s.receivers[push.Receiver] >= receiverSending {
			if len(s.waiting) < maxWaiting {
				s.waiting = append(s.waiting, push)
			} else {
				s.more = true
			}
			continue
		}
		s.sending[key] = push
		s.owners[push.Owner]++
		s.receivers[push.Receiver]++
		admitted = append(admitted, push)
	}
	return admitted
}

// leave releases the slot of a config, and starts a search: there may be new events, and
// other configs may wait for the slot.
func (s *Sender) leave(key string) {
	s.mu.Lock()
	push := s.sending[key]
	delete(s.sending, key)
	decrement(s.owners, push.Owner)
	decrement(s.receivers, push.Receiver)
	if s.more && len(s.waiting) == 0 {
		s.all, s.more = true, false
	}
	s.mu.Unlock()
	s.Notify(push.RunID)
}

func decrement(counts map[string]int, name string) {
	if counts[name]--; counts[name] == 0 {
		delete(counts, name)
	}
}

func (s *Sender) isSending(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, sending := s.sending[key]
	return sending
}
