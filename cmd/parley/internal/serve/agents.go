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
	"parley/internal/domain"
	"parley/llm"
	"parley/llm/reader"
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
	// inputTimeout is how long a run waits for the user's answer to a question back.
	inputTimeout = 24 * time.Hour
	// userStreams is how many streams of one user are open at once.
	userStreams = 320
)

// openHost starts the agents, which resume the runs that have not ended.
func (s *server) openHost(ctx context.Context) (*a2aserver.Host, error) {
	work := s.agentConfig()
	push, err := s.newPush(ctx)
	if err != nil {
		return nil, err
	}
	if s.signer, err = s.openSigner(ctx); err != nil {
		return nil, err
	}
	hosted := hostedAgent{s.version, s.models, agents.NewExamples(work, s.store.Datasets)}
	namespaces := &agents.Namespaces{Datasets: s.store.DescribedDatasets, Profiles: s.store, Fit: reader.Fit}
	host := a2aserver.New(a2aserver.Config{
		Log: s.store,
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
			return s.signer.SignDocument(ctx, document)
		},
		Sign:               s.signer.Sign,
		Keys:               func() any { return s.signer.Keys() },
		Catalog:            func(baseURL string) any { return cards.Catalog(baseURL) },
		AICatalog:          func(baseURL string) any { return cards.NewAICatalog(baseURL, s.version) },
		Logger:             s.log,
		Reads:              s.reads,
		Short:              s.short,
		Trace:              traced(s.tracer),
		RunTimeout:         s.RunTimeout,
		Room:               s.records.CheckRecord,
		InputTimeout:       inputTimeout,
		RequestTimeout:     limits.RequestTimeout,
		NamespaceExtension: cards.NamespaceExtension,
		NamedNamespace:     namespaces.Named,
		BestNamespace:      namespaces.Best,
		DefaultAgent:       cards.AssistantName,
		Attachments: &a2aserver.Attachments{
			Save: s.data.datasets.SaveAttachments, MaxBytes: limits.MaxAttachment, Types: cards.AttachmentTypes(),
		},
		MaxMessage:   int(limits.MaxBody + limits.MaxAttachment),
		MaxStructure: int(limits.MaxBody),
		MaxRuns:      maxRuns,
		MaxWorking:   maxWorking,
		UserRuns:     max(limits.UserRuns, s.LLMConcurrency),
		UserStreams:  userStreams,
		WriteTimeout: streamWrite,
		KeepAlive:    keepAlive,
		Lease:        limits.HostLease,
		Push:         push,
	})
	if err := host.Start(ctx); err != nil {
		return nil, errors.Join(err, host.Close(ctx))
	}
	return host, nil
}

func (s *server) agentConfig() agents.Config {
	return agents.Config{
		Lake: s.data.datasets, Memory: s.store, Models: s.models, Verified: s.store, Feedback: s.feedback, Profiles: s.store, Log: s.log, Tracer: agentTracer{s.tracer},
		JobTimeout: s.RunTimeout, RetryTimeout: retryTimeout,
	}
}

// watcher asks watched queries.
func (s *server) watcher() agents.Watcher {
	return agents.Watcher{
		Config: s.agentConfig(), Watches: s.store, Agent: cards.NL2QLName, Change: reader.Change,
		Ask: func(ctx context.Context, question domain.Question) error {
			_, err := s.host.Ask(ctx, question.Caller, question)
			return err
		},
	}
}

// watch asks watched queries until stop is called.
func (s *server) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.watcher().Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// hostedAgent has what all agents of the host share.
type hostedAgent struct {
	version  string
	models   *llm.Models
	examples *agents.Examples
}

func (h hostedAgent) agent(name string, card func(baseURL, version string) *a2a.AgentCard, executor a2asrv.AgentExecutor) a2aserver.Agent {
	describe := func(baseURL string) *a2a.AgentCard { return card(baseURL, h.version) }
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

func traced(tracer *trace.Tracer) func(context.Context, domain.Question) (context.Context, func(*a2a.Task, error)) {
	return func(ctx context.Context, request domain.Question) (context.Context, func(*a2a.Task, error)) {
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
