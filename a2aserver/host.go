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
	"google.golang.org/grpc"

	"parley/a2aserver/push"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/jobs"
)

// Log stores runs and their events. Package sqlstore describes the methods.
type Log interface {
	push.Log
	jobs.Leases
	ResolveRun(ctx context.Context, question *domain.Question) error
	SentRun(ctx context.Context, caller domain.Caller, agent, key string) (runID, digest string, err error)
	ConversationNamespace(ctx context.Context, caller domain.Caller, conversationID string) (domain.NamespaceRef, error)
	WaitingRuns(ctx context.Context, caller domain.Caller, agent, conversationID, message string) ([]string, error)
	Append(change domain.TaskChange, done func(error))
	ArtifactBytes(ctx context.Context, caller domain.Caller, runID string) (int, error)
	Tasks(ctx context.Context, caller domain.Caller, filter domain.TaskFilter) (tasks []domain.Task, total int, err error)
	TaskSizes(ctx context.Context, caller domain.Caller, filter domain.TaskFilter) ([]int, error)
	ClaimRuns(ctx context.Context, holder string, agents []string, inputTimeout time.Duration, limit int) ([]domain.ClaimedRun, error)
	ResumeRun(ctx context.Context, holder string, answered domain.AnsweredRun) (domain.ClaimedRun, error)
	LastEvents(ctx context.Context, runIDs []string) (map[string]int64, error)
	Listen(ctx context.Context, changed func(runID string)) error
	SavePushConfig(ctx context.Context, caller domain.Caller, config domain.PushConfig) error
	PushConfigs(ctx context.Context, caller domain.Caller, runID string) ([]domain.PushConfig, error)
	DeletePushConfig(ctx context.Context, caller domain.Caller, runID, id string) error
	Run(ctx context.Context, caller domain.Caller, id string) (domain.Run, error)
	Namespaces(ctx context.Context, caller domain.Caller, owner string) ([]domain.NamespaceRef, error)
}

// Agent is an agent to be hosted.
type Agent struct {
	// Name identifies the agent in paths and records.
	Name     string
	Executor a2asrv.AgentExecutor
	// OmitSubmitted leaves the submitted task out of the agent's events. Executors emit
	// it first, as the protocol asks; here the task is in the log before they start.
	OmitSubmitted bool
	// Card describes the agent as served below a base URL; ExtendedCard is the card
	// for one caller.
	Card         func(baseURL string) *a2a.AgentCard
	ExtendedCard func(ctx context.Context, caller domain.Caller, baseURL string) (*a2a.AgentCard, error)
	// NamespaceCard is the card for one caller and one namespace. ErrNotFound when the caller
	// may not read it.
	NamespaceCard func(ctx context.Context, caller domain.Caller, baseURL string, namespace domain.NamespaceRef) (*a2a.AgentCard, error)
	// Check refuses a question that the agent cannot answer, with ErrInvalid. It
	// may be nil.
	Check func(question domain.Question) error
	Projection
}

// Projection turns an agent's events into what readers of runs see.
type Projection struct {
	// Result renders a completed task, as a JSON document.
	Result func(task *a2a.Task) (json.RawMessage, error)
	// Failure says why a task failed or was canceled.
	Failure func(task *a2a.Task) string
	// LastNode names the step that an event reached; "" when it reached no new one.
	LastNode func(event a2a.Event) string
	// Input returns what a task with this status asks the user; nil when it does not wait.
	Input func(status a2a.TaskStatus) *domain.Input
	// Progress converts the events of a run, in order, to progress for its readers.
	Progress func(question string) func(event a2a.Event) []domain.Progress
}

// Config is what a Host needs.
type Config struct {
	Log    Log
	Agents []Agent
	// CardJSON writes a card as it is served.
	CardJSON func(card *a2a.AgentCard) ([]byte, error)
	// LegacyCardJSON writes a card as A2A 0.3 has it, with signatures for the address of the
	// context.
	LegacyCardJSON func(ctx context.Context, card *a2a.AgentCard) ([]byte, error)
	// Sign returns a card with signatures, for the address of the context. It may be nil.
	Sign func(ctx context.Context, card *a2a.AgentCard) (*a2a.AgentCard, error)
	// Keys returns the keys of the signatures, to be written as JSON.
	Keys func() any
	// Catalog returns what GET /a2a answers, to be written as JSON; AICatalog, what crawlers
	// read.
	Catalog, AICatalog func(baseURL string) any
	Logger             *slog.Logger
	// Reads limits the memory of large answers.
	Reads *fair.Queue
	// Trace starts the trace of a run. The function that it returns ends the trace
	// with the final task and the error, if any. It may be nil.
	Trace func(ctx context.Context, request domain.Question) (context.Context, func(task *a2a.Task, err error))
	// Push says how push notifications are sent; nil when there are none.
	Push *Push
	// Attachments says which files questions may bring; nil for none.
	Attachments *Attachments
	// RunTimeout limits a run. RequestTimeout limits a request that does not wait
	// for a run, and the start of a run; 0 is no limit.
	RunTimeout, RequestTimeout time.Duration
	// InputTimeout is how long a run waits for an answer of the user.
	InputTimeout time.Duration
	// Room refuses a question for which the disk has no room. It may be nil.
	Room func(ctx context.Context, owner string) error
	// NamespaceExtension is the URI of the extension whose payload names the namespace.
	NamespaceExtension string
	// NamedNamespace returns the namespace of a question whose text names one of those that the
	// caller can read: this one, unless the words fit other data better.
	NamedNamespace func(ctx context.Context, caller domain.Caller, address domain.Address, readable []domain.NamespaceRef) (domain.NamespaceRef, error)
	// BestNamespace returns the one that fits a question best; zero if none fits. Without these
	// two functions, the host asks the user.
	BestNamespace func(ctx context.Context, caller domain.Caller, question string, readable []domain.NamespaceRef) (domain.NamespaceRef, error)
	// MaxRuns is how many runs one host has at a time, with one more for each user without
	// any; MaxWorking of them execute and the others are queued. UserRuns is how many of one
	// user execute; a multiple of it may be queued.
	MaxRuns, MaxWorking, UserRuns int
	// UserStreams is how many streams of one user are open at a time, of all bindings; 0 is no
	// limit.
	UserStreams int
	// DefaultAgent is the agent of gRPC calls that name none.
	DefaultAgent string
	// MaxMessage limits a request of gRPC, in bytes; 4 MiB when 0.
	MaxMessage int
	// MaxStructure limits a request without its files, in bytes: in memory it takes many times
	// that. 0 is no limit.
	MaxStructure int
	// WriteTimeout is how long a client may take to read an event of a stream.
	WriteTimeout time.Duration
	// KeepAlive is the interval of keep-alive comments in a stream without events.
	KeepAlive time.Duration
	// Lease is how long a host owns its runs after its last renewal.
	Lease time.Duration
	// Short limits the short requests of a user that are handled at a time. Without it the host makes
	// its own.
	Short *fair.Queue
}

// shortSlot waits for a slot of the caller's short requests; release may be called twice. Without
// a caller there is nothing to do.
func (c *Config) shortSlot(ctx context.Context) (release func(), err error) {
	who, ok := auth.CallerFrom(ctx)
	if !ok {
		return func() {}, nil
	}
	return fair.ShortSlot(ctx, c.Short, who.Username)
}

// Host runs agents. An event is committed to the log before any client receives it.
type Host struct {
	cfg          Config
	id           string
	services     map[string]*agentService
	grpc         *grpc.Server
	broadcasters broadcasters
	recent       recentMessages
	// ctx ends when the host stops; its cause is errStopping.
	ctx  context.Context
	stop context.CancelCauseFunc
	// startMu prevents new runs from starting while the host stops.
	startMu  sync.Mutex
	runs     sync.WaitGroup
	work     sync.WaitGroup
	draining atomic.Bool
	// queue limits the runs that execute at a time.
	queue *fair.Queue
	// lastTries has the runs that fail if this host dies too. One executes at a time, beside
	// those of queue, so that the death of the host fails one run at most.
	lastTries *fair.Queue
	// inferring limits the questions whose namespace is looked for at a time: that reads the
	// descriptions of many datasets.
	inferring *fair.Queue
	// lease is that of this host, nil before it starts, and takeover the loop that claims runs.
	lease    atomic.Pointer[domain.Lease]
	takeover *jobs.Loop
	// streams counts the open streams of each user.
	streams fair.Counter
	// pageBytes ends a page of tasks early: tasks may be large.
	pageBytes int
	// sender sends push notifications; nil when there are none.
	sender *push.Sender
}

// queuedPerSlot is how many runs of a user may be queued for each that may execute.
const queuedPerSlot = 32

// Causes that end the execution of a run.
var (
	errCanceled       = errors.New("the run was canceled or deleted")
	errStopping       = errors.New("the host is stopping")
	errTooLong        = errors.New("run timeout")
	errLogUnavailable = errors.New("the event log is unavailable")
	errNotCommitted   = errors.New("the run was not committed in time")
)

// New makes a Host. Start lets it claim the runs of hosts that died.
func New(cfg Config) *Host {
	h := &Host{
		cfg:          cfg,
		id:           domain.NewID(),
		services:     map[string]*agentService{},
		broadcasters: broadcasters{live: map[string]*broadcaster{}},
		queue: fair.New(fair.Config{
			What:  "questions",
			Slots: cfg.MaxWorking, SlotsPerUser: cfg.UserRuns,
			MaxQueued: cfg.MaxRuns - cfg.MaxWorking, MaxQueuedPerUser: queuedPerSlot * cfg.UserRuns,
		}),
		lastTries: fair.New(fair.Config{Slots: 1, SlotsPerUser: 1}),
		inferring: fair.New(fair.Config{What: "questions without a namespace", Slots: 4, SlotsPerUser: 1, MaxQueued: 256, MaxQueuedPerUser: 16}),
		takeover:  jobs.NewLoop(cfg.Lease / 3),
		pageBytes: 8 << 20,
	}
	if cfg.Short == nil {
		h.cfg.Short = fair.New(fair.ShortRequests())
	}
	if cfg.Trace == nil {
		h.cfg.Trace = func(ctx context.Context, _ domain.Question) (context.Context, func(*a2a.Task, error)) {
			return ctx, func(*a2a.Task, error) {}
		}
	}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	if cfg.Push != nil {
		h.sender = h.newSender()
		h.cfg.Log = pushedLog{cfg.Log, h.sender}
	}
	for i := range cfg.Agents {
		agent := &cfg.Agents[i]
		h.services[agent.Name] = &agentService{host: h, agent: agent}
	}
	h.grpc = h.newGRPC()
	return h
}

// Start registers the host, and claims runs without a live host from now on.
func (h *Host) Start(ctx context.Context) error {
	if err := h.acquireLease(ctx); err != nil {
		return fmt.Errorf("register the host: %w", err)
	}
	h.work.Go(h.holdLease)
	h.work.Go(h.listen)
	h.work.Go(func() { jobs.NewLoop(pollInterval).Run(h.ctx, func(bool) { h.poll() }) })
	if h.sender != nil {
		h.work.Go(func() { h.sender.Run(h.ctx) })
	}
	return nil
}

// addRun adds a run to those that Close waits for. It reports false when the host is
// stopping.
func (h *Host) addRun() bool {
	h.startMu.Lock()
	defer h.startMu.Unlock()
	if h.ctx.Err() != nil {
		return false
	}
	h.runs.Add(1)
	return true
}

// Drain stops the host from claiming runs, before it is closed.
func (h *Host) Drain() { h.draining.Store(true) }

// Close stops executing runs and releases them for other hosts. Streams end without a
// final event. Runs that have not stopped when ctx ends are released as well: the log
// refuses what they still write. It may be called twice.
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
		h.cfg.Logger.Warn("runs still executing at shutdown deadline")
	}
	if err := jobs.Release(ctx, h.releaseAll); err != nil {
		return fmt.Errorf("release runs: %w", err)
	}
	return nil
}
