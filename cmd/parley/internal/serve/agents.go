package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/a2aserver"
	"parley/agents"
	"parley/agents/assistant"
	"parley/agents/nl2ql"
	"parley/cards"
	"parley/cmd/parley/internal/command"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/llm"
	"parley/llm/reader"
	"parley/storage/datasets"
	"parley/storage/trace"
)

const (
	// maxRuns is how many runs one process holds, of which maxWorking execute.
	maxRuns, maxWorking = 16_384, 2048
	// streamWrite is how long a client may take to read an event.
	streamWrite = 15 * time.Second
	// keepAlive is the interval of comments on a stream without events.
	keepAlive = 15 * time.Second
	// retryTimeout is how long the data may be unavailable before a run fails: longer
	// than a restart of the database.
	retryTimeout = 30 * time.Second
	// stopTimeout is how long agents may take to stop.
	stopTimeout = 10 * time.Second
)

// hostLease is how long the runs of a dead process wait for another one. Tests
// shorten it.
var hostLease = 15 * time.Second

// agentSettings limit the agents.
type agentSettings struct {
	RunTimeout    string `default:"10m" placeholder:"DURATION" help:"How long answering a question may take (${default})."`
	InputTimeout  string `default:"24h" placeholder:"DURATION" help:"How long a run waits for the user's answer to a question back (${default})."`
	UserRuns      string `default:"64" placeholder:"N" help:"How many questions of one user are answered at once (${default}). Four times as many can wait."`
	UserStreams   string `default:"320" placeholder:"N" help:"How many streams of one user are open at once, over A2A and REST (${default})."`
	MaxAttachment string `default:"8388608" placeholder:"BYTES" help:"The total size of the files of a question over A2A, in bytes (${default})."`
}

// agentConfig is agentSettings, parsed.
type agentConfig struct {
	runTimeout, inputTimeout time.Duration
	userRuns, userStreams    int
	maxAttachment            int64
}

func (s agentSettings) read(c *command.Checker) agentConfig {
	return agentConfig{
		runTimeout:    c.Duration("run-timeout", s.RunTimeout),
		inputTimeout:  c.Duration("input-timeout", s.InputTimeout),
		userRuns:      c.Count("user-runs", s.UserRuns),
		userStreams:   c.Count("user-streams", s.UserStreams),
		maxAttachment: c.Bytes("max-attachment", s.MaxAttachment),
	}
}

// hostParts are the parts that agents work with.
type hostParts struct {
	datasets *datasets.Datasets
	models   *llm.Models
	tracer   *trace.Tracer
	feedback *trace.Feedback
	// reads limits the memory of large answers.
	reads *fair.Queue
}

// openHost starts the agents, which resume the runs that have not ended.
func openHost(ctx context.Context, cfg config, b base, p hostParts) (*a2aserver.Host, error) {
	work := agents.Config{
		Lake: p.datasets, Memory: b.store, Models: p.models, Verified: b.store, Feedback: p.feedback, Profiles: b.store, Log: b.log, Tracer: agentTracer{p.tracer},
		JobTimeout: cfg.agents.runTimeout, RetryTimeout: retryTimeout,
	}
	push, err := newPush(ctx, cfg, b)
	if err != nil {
		return nil, err
	}
	signer, err := openSigner(ctx, cfg.cards, b.store)
	if err != nil {
		return nil, err
	}
	hosted := hostedAgent{cfg.version, cfg.http.grpcAddress, p.models, agents.NewExamples(work, b.store)}
	namespaces := &agents.Namespaces{Datasets: b.store.DescribedDatasets, Profiles: b.store, Fit: reader.Fit}
	host := a2aserver.New(a2aserver.Config{
		Log: b.store,
		Agents: []a2aserver.Agent{
			hosted.agent(cards.NL2QLName, cards.NL2QL, nl2ql.New(work)),
			hosted.agent(cards.AssistantName, cards.Assistant, assistant.New(work)),
		},
		CardJSON: cards.JSON,
		LegacyCardJSON: func(ctx context.Context, card *a2a.AgentCard) ([]byte, error) {
			document, err := cards.LegacyJSON(card)
			if err != nil {
				return nil, err
			}
			return signer.SignDocument(ctx, document)
		},
		Sign:               signer.Sign,
		Keys:               func() any { return signer.Keys() },
		Catalog:            func(baseURL string) any { return cards.Catalog(baseURL) },
		AICatalog:          func(baseURL string) any { return cards.NewAICatalog(baseURL, cfg.version) },
		Logger:             b.log,
		Reads:              p.reads,
		Trace:              traced(p.tracer),
		RunTimeout:         cfg.agents.runTimeout,
		InputTimeout:       cfg.agents.inputTimeout,
		RequestTimeout:     cfg.http.requestTimeout,
		NamespaceExtension: cards.NamespaceExtension,
		NamedNamespace:     namespaces.Named,
		BestNamespace:      namespaces.Best,
		DefaultAgent:       cards.AssistantName,
		Attachments: &a2aserver.Attachments{
			Save: p.datasets.SaveAttachments, MaxBytes: cfg.agents.maxAttachment, Types: cards.AttachmentTypes(),
		},
		MaxMessage:   int(cfg.http.maxBody + cfg.agents.maxAttachment),
		MaxStructure: int(cfg.http.maxBody),
		MaxRuns:      maxRuns,
		MaxWorking:   maxWorking,
		UserRuns:     cfg.agents.userRuns,
		UserStreams:  cfg.agents.userStreams,
		WriteTimeout: streamWrite,
		KeepAlive:    keepAlive,
		Lease:        hostLease,
		Push:         push,
	})
	if err := host.Start(ctx); err != nil {
		return nil, errors.Join(err, host.Close(ctx))
	}
	return host, nil
}

// hostedAgent has what all agents of the host share.
type hostedAgent struct {
	version string
	// grpcAddress is where gRPC can be reached; "" for the address of requests.
	grpcAddress string
	models      *llm.Models
	examples    *agents.Examples
}

func (h hostedAgent) agent(name string, card func(baseURL, version string) *a2a.AgentCard, executor a2asrv.AgentExecutor) a2aserver.Agent {
	describe := func(baseURL string) *a2a.AgentCard {
		described := card(baseURL, h.version)
		if h.grpcAddress != "" {
			cards.SetGRPC(described, h.grpcAddress)
		}
		return described
	}
	return a2aserver.Agent{
		Name:     name,
		Executor: executor,
		// The streams of nl2ql have four events, the first of them a status.
		OmitSubmitted: name == cards.NL2QLName,
		Card:          describe,
		ExtendedCard: func(ctx context.Context, caller domain.Caller, baseURL string) (*a2a.AgentCard, error) {
			found, err := h.examples.Of(ctx, caller)
			if err != nil {
				return nil, fmt.Errorf("find examples: %w", err)
			}
			examples := make([]cards.Example, len(found))
			for i, example := range found {
				examples[i] = cards.Example{Text: example.Question, Namespace: example.Namespace.String()}
			}
			return cards.WithExamples(describe(baseURL), examples)
		},
		NamespaceCard: func(ctx context.Context, caller domain.Caller, baseURL string, namespace domain.NamespaceRef) (*a2a.AgentCard, error) {
			datasets, err := h.examples.Datasets(ctx, caller, namespace)
			if err != nil {
				return nil, fmt.Errorf("describe namespace: %w", err)
			}
			skills := make([]cards.Dataset, len(datasets))
			for i, dataset := range datasets {
				skills[i] = cards.Dataset(dataset)
			}
			return cards.ForNamespace(describe(baseURL), namespace.String(), skills), nil
		},
		Check: func(question domain.Question) error {
			if _, err := h.models.Jobs(question.Provider, question.Model); err != nil {
				return domain.Errorf(domain.ErrInvalid, "%v", err)
			}
			return nil
		},
		Projection: a2aserver.Projection{
			Result: agents.Result, Failure: agents.Failure, LastNode: agents.LastNode, Input: agents.InputOf, Progress: agents.NewProgress,
		},
	}
}

func traced(tracer *trace.Tracer) func(context.Context, domain.RunRequest) (context.Context, func(*a2a.Task, error)) {
	return func(ctx context.Context, request domain.RunRequest) (context.Context, func(*a2a.Task, error)) {
		ctx, end := tracer.Run(ctx, request)
		return ctx, func(task *a2a.Task, err error) {
			tracer.Answer(ctx, agents.Response(task))
			end(string(statusOf(task)), err)
		}
	}
}

func statusOf(task *a2a.Task) domain.RunStatus {
	switch state := task.Status.State; {
	case state == a2a.TaskStateCompleted:
		return domain.RunCompleted
	case state.Terminal():
		return domain.RunFailed
	}
	return domain.RunRunning
}

// closeHost leaves the runs that have not ended to another process.
func closeHost(ctx context.Context, host *a2aserver.Host) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return host.Close(ctx)
}
