package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"parley/internal/fair"
	"parley/storage"
)

// Log is where runs are kept.
type Log interface {
	storage.Tasks
	storage.Hosts
	Run(ctx context.Context, caller storage.Caller, id string) (storage.Run, error)
}

// Agent is an agent to be hosted.
type Agent struct {
	// Name is how it is called in paths and records.
	Name     string
	Executor a2asrv.AgentExecutor
	// Card describes the agent as reached below a base URL; ExtendedCard does so
	// for one caller.
	Card         func(baseURL string) *a2a.AgentCard
	ExtendedCard func(ctx context.Context, caller storage.Caller, baseURL string) (*a2a.AgentCard, error)
	// Check refuses a question that the agent cannot take, as ErrInvalid. It may
	// be nil.
	Check func(question storage.Question) error
	Projection
}

// Projection says what the events of an agent mean to those who read runs.
type Projection struct {
	// Result renders a completed task, as a JSON document.
	Result func(task *a2a.Task) (json.RawMessage, error)
	// Failure says why a task failed or was canceled.
	Failure func(task *a2a.Task) string
	// LastNode names the step that an event reached; "" when it says nothing new.
	LastNode func(event a2a.Event) string
	// Progress gives what tells readers of a run of its events, one by one.
	Progress func(question string) func(event a2a.Event) []storage.Progress
}

// Config is what a Host needs.
type Config struct {
	Log    Log
	Agents []Agent
	// CardJSON writes a card as it is served.
	CardJSON func(card *a2a.AgentCard) ([]byte, error)
	// Catalog gives what GET /a2a answers, to be written as JSON.
	Catalog func(baseURL string) any
	Logger  *slog.Logger
	// Reads is where large answers are counted while they are in memory.
	Reads *fair.Queue
	// Trace follows a run; the end is told what became of it, and why it broke
	// off where it did. It may be nil.
	Trace func(ctx context.Context, asking storage.RunRequest) (context.Context, func(task *a2a.Task, err error))
	// RunTimeout is how long a run may take. RequestTimeout is how long a request
	// may take that does not wait for one, or to begin one; 0 is for ever.
	RunTimeout, RequestTimeout time.Duration
	// MaxRuns is how many runs one host has at a time, of which MaxWorking are
	// worked on and the others wait. UserRuns is how many of one user are worked
	// on, and some times as many may wait.
	MaxRuns, MaxWorking, UserRuns int
	// WriteTimeout is how long a reader of a stream may take to read an event.
	WriteTimeout time.Duration
	// KeepAlive is how often a stream without events shows that it lives.
	KeepAlive time.Duration
	// Lease is how long a host that gave no sign of life holds its runs.
	Lease time.Duration
}

// releaseTimeout is how long a host that stops may take to leave its runs to
// others.
const releaseTimeout = 5 * time.Second

// Host runs agents. Everything that they say is in the log before anyone hears
// of it.
type Host struct {
	cfg      Config
	id       string
	services map[string]*agentService
	feeds    feeds
	// ctx ends when the host stops; what it stops says so.
	ctx  context.Context
	stop context.CancelCauseFunc
	// startMu keeps new runs from beginning while the host stops.
	startMu  sync.Mutex
	runs     sync.WaitGroup
	work     sync.WaitGroup
	draining atomic.Bool
	// queue is where runs wait to be worked on; left is told that others left
	// runs.
	queue        *fair.Queue
	wakeTakeover chan struct{}
}

// queuedPerSlot is how many runs of a user may wait for each that is worked on.
const queuedPerSlot = 4

// What ends the work on a run besides its own end.
var (
	errCanceled       = errors.New("the run was ended by somebody else")
	errStopping       = errors.New("the host is stopping")
	errTooLong        = errors.New("the run took too long")
	errLogUnavailable = errors.New("an event could not be kept for now")
	errNotCommitted   = errors.New("the run did not begin in time")
)

// New makes a Host. It takes up what others left when Start is called.
func New(cfg Config) *Host {
	h := &Host{
		cfg:      cfg,
		id:       uuid.Must(uuid.NewV7()).String(),
		services: map[string]*agentService{},
		feeds:    feeds{live: map[string]*feed{}},
		queue: fair.New(fair.Config{
			What:  "questions",
			Slots: cfg.MaxWorking, SlotsPerUser: cfg.UserRuns,
			MaxQueued: cfg.MaxRuns - cfg.MaxWorking, MaxQueuedPerUser: queuedPerSlot * cfg.UserRuns,
		}),
		wakeTakeover: make(chan struct{}, 1),
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	for i := range cfg.Agents {
		agent := &cfg.Agents[i]
		h.services[agent.Name] = &agentService{host: h, agent: agent}
	}
	return h
}

// service gives an agent by its name.
func (h *Host) service(name string) (service, bool) {
	s, ok := h.services[name]
	return s, ok
}

// Start makes the host known to others and takes up the runs that nobody works
// on, from now on.
func (h *Host) Start(ctx context.Context) error {
	if err := h.cfg.Log.RenewHost(ctx, h.id, h.cfg.Lease); err != nil {
		return fmt.Errorf("make the host known: %w", err)
	}
	h.work.Go(h.renewLease)
	h.work.Go(h.listen)
	h.work.Go(h.poll)
	return nil
}

// addRun counts a new run among those that Close waits for. It reports false when
// the host stops: whoever begins one then would leave it to nobody.
func (h *Host) addRun() bool {
	h.startMu.Lock()
	defer h.startMu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.runs.Add(1)
	return true
}

// Drain has the host take over no more runs: it is about to stop.
func (h *Host) Drain() { h.draining.Store(true) }

// Close stops the work on all runs and leaves them to other hosts. Streams end
// without an end. Work that does not stop while ctx lasts is left all the same:
// what it still says is refused. It may be called twice.
func (h *Host) Close(ctx context.Context) error {
	h.startMu.Lock()
	h.stop(errStopping)
	h.startMu.Unlock()
	stopped := make(chan struct{})
	go func() {
		h.work.Wait()
		h.runs.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		h.cfg.Logger.Warn("some runs did not stop in time")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := h.cfg.Log.ReleaseRuns(ctx, h.id); err != nil {
		return fmt.Errorf("leave runs to others: %w", err)
	}
	return nil
}
