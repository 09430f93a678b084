package agents

import (
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/internal/domain"
	"parley/internal/retry"
	"parley/llm"
)

// Run is one run as its agent sees it: the question, what was emitted before a takeover,
// and methods to query and to emit events.
type Run struct {
	config    Config
	execution *a2asrv.ExecutorContext
	question  domain.Question
	// message asked the question.
	message *a2a.Message
	yield   func(a2a.Event, error) bool
	// stored is what was emitted before a takeover or an answer; an empty task for a new
	// run.
	stored *a2a.Task

	// Open fills these.
	jobs llm.Jobs
	task llm.Task
	// attached are the datasets of attachments.
	attached []domain.DatasetData
	// verifiedFound is the answer of the question's verified query, nil for none, once
	// verifiedRead is set.
	verifiedFound *Found
	verifiedRead  bool
	// usage counts the tokens of models since the run started or was resumed.
	usage llm.Usage
	// offered are the readings that the answer to the previous question offered, and offeredBy is
	// its run.
	offered   []domain.InputOption
	offeredBy string
	// steps has the metadata of the steps that were run.
	steps []map[string]any
}

// errStopped says that the run was stopped and its events are no longer read.
var errStopped = errors.New("the run was stopped")

// Executor executes runs of an agent. It is safe for concurrent use.
type Executor struct {
	config Config
	result string
	find   func(context.Context, *Run) error
}

var _ a2asrv.AgentExecutor = (*Executor)(nil)

// NewExecutor makes an Executor that calls find for each run, unless the artifact result,
// the last one that find emits, was emitted before a takeover.
func NewExecutor(config Config, result string, find func(context.Context, *Run) error) *Executor {
	return &Executor{config: config.withDefaults(), result: result, find: find}
}

// Execute returns the events of a run, to its end or to a question to the user. The context has
// the question: see domain.WithQuestion. An error ends the run as failed; when ctx ends, no final event is emitted: the host writes it. A run that
// has ended, or waits for an answer, gives nothing.
func (e *Executor) Execute(ctx context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		w := &Run{config: e.config, execution: exec, yield: yield, stored: exec.StoredTask}
		if w.stored == nil {
			w.stored = &a2a.Task{}
		}
		for _, artifact := range w.stored.Artifacts {
			w.addStep(artifact)
		}
		if w.state().Terminal() || w.waits() {
			return
		}
		var ok bool
		if w.question, ok = domain.QuestionFrom(ctx); !ok || exec.Message == nil {
			yield(nil, a2a.NewError(a2a.ErrInvalidParams, "a run needs a question and its message"))
			return
		}
		if address, ok := domain.FindAddress(w.question.Caller, w.question.Text, []domain.NamespaceRef{w.question.Namespace}); ok && address.Leading {
			w.question.Text = address.Rest // the stored message keeps it
		}
		w.message = exec.Message
		if messages := w.userMessages(); len(messages) > 0 {
			w.message = messages[0] // that of the execution may be an answer
		}
		err := e.answer(ctx, w)
		if err != nil && ctx.Err() == nil && !errors.Is(err, errStopped) && !errors.Is(err, errWaiting) {
			w.fail(ctx, err)
		}
	}
}

// answer emits the events of a run that are missing.
func (e *Executor) answer(ctx context.Context, w *Run) error {
	if w.state() == a2a.TaskStateUnspecified {
		if err := w.emitSubmitted(ctx); err != nil {
			return err
		}
	}
	if w.state() != a2a.TaskStateWorking {
		if err := w.EmitStatus(ctx, a2a.TaskStateWorking); err != nil {
			return err
		}
	}
	if w.Artifact(e.result) == nil {
		if err := e.find(ctx, w); err != nil {
			return err
		}
	}
	return w.EmitStatus(ctx, a2a.TaskStateCompleted)
}

// Cancel returns the final event of a canceled run.
func (e *Executor) Cancel(_ context.Context, exec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(exec, a2a.TaskStateCanceled, nil), nil)
	}
}

// Question is the text of the question, without a namespace in front.
func (w *Run) Question() string { return w.question.Text }

// Change says what has changed in the rows of a question that a watch asks again; "" for other
// questions.
func (w *Run) Change() string {
	if w.question.Standing == nil {
		return ""
	}
	return w.question.Standing.Change
}

// state is the state of the stored task; unspecified for a new run.
func (w *Run) state() a2a.TaskState { return w.stored.Status.State }

// Artifact returns an artifact of the stored task; nil for none.
func (w *Run) Artifact(id string) *a2a.Artifact { return artifact(w.stored, id) }

// StatusMessages returns the messages that came with the status of the stored task, oldest
// first, without those that asked for input.
func (w *Run) StatusMessages() []*a2a.Message {
	return slices.DeleteFunc(w.agentMessages(), func(message *a2a.Message) bool {
		_, asks := readInput(message)
		return asks
	})
}

func (w *Run) agentMessages() []*a2a.Message {
	messages := w.messagesOf(a2a.MessageRoleAgent)
	if w.stored.Status.Message != nil {
		messages = append(messages, w.stored.Status.Message)
	}
	return messages
}

func (w *Run) userMessages() []*a2a.Message { return w.messagesOf(a2a.MessageRoleUser) }

// messagesOf returns the messages of an author in the history of the stored task, oldest first.
func (w *Run) messagesOf(author a2a.MessageRole) []*a2a.Message {
	var messages []*a2a.Message
	for _, message := range w.stored.History {
		if message.Role == author {
			messages = append(messages, message)
		}
	}
	return messages
}

// emitSubmitted emits the submitted task with the question in its history.
func (w *Run) emitSubmitted(ctx context.Context) error {
	question := *w.message
	question.TaskID, question.ContextID = w.execution.TaskID, w.execution.ContextID
	task := a2a.NewSubmittedTask(w.execution, &question)
	task.Status.Timestamp = new(w.config.Now().UTC())
	return w.emit(ctx, task)
}

// EmitStatus emits a status with an optional message. A terminal one has as metadata how
// the question was read, and the usage of models.
func (w *Run) EmitStatus(ctx context.Context, state a2a.TaskState, parts ...*a2a.Part) error {
	var message *a2a.Message
	if len(parts) > 0 {
		message = a2a.NewMessageForTask(a2a.MessageRoleAgent, w.execution, parts...)
	}
	event := a2a.NewStatusUpdateEvent(w.execution, state, message)
	if state.Terminal() {
		event.Metadata = w.conclusion(state)
	}
	return w.emit(ctx, event)
}

// EmitArtifact emits a complete artifact. Parts without a media type get that of their
// kind.
func (w *Run) EmitArtifact(ctx context.Context, id string, metadata map[string]any, parts ...*a2a.Part) error {
	for _, part := range parts {
		switch _, isData := part.Content.(a2a.Data); {
		case part.MediaType != "":
		case isData:
			part.MediaType = "application/json"
		default:
			part.MediaType = "text/plain"
		}
	}
	event := a2a.NewArtifactEvent(w.execution, parts...)
	event.Artifact.ID, event.Artifact.Name, event.Artifact.Metadata = a2a.ArtifactID(id), id, metadata
	event.LastChunk = true // without it, clients such as ADK wait for the rest and do not store the artifact
	w.addStep(event.Artifact)
	return w.emit(ctx, event)
}

// emit yields an event unless the run was stopped.
func (w *Run) emit(ctx context.Context, event a2a.Event) error {
	if ctx.Err() != nil || !w.yield(event, nil) {
		return errStopped
	}
	return nil
}

// Open selects the model and reads the list of datasets.
func (w *Run) Open(ctx context.Context) error {
	var err error
	if w.jobs, err = w.config.Models.Jobs(w.question.Provider, w.question.Model); err != nil {
		return &modelError{err}
	}
	if err := w.attach(ctx); err != nil {
		return err
	}
	all, err := tool(ctx, w, "datasets", func(ctx context.Context) ([]domain.DatasetData, error) {
		return w.config.Lake.Datasets(ctx, w.question.Caller, w.scope())
	})
	if err != nil {
		return fmt.Errorf("read the datasets: %w", err)
	}
	links, err := w.links(ctx, all)
	if err != nil {
		return err
	}
	for _, data := range all {
		if data.Namespace == "" {
			w.attached = append(w.attached, data)
		}
	}
	w.task = llm.Task{
		Question: w.question.Text,
		Hints:    w.question.HelperPrompt,
		Datasets: describe(all),
		Links:    links,
		Data:     &data{Run: w},
		Units:    w.unitsOf,
		Now:      w.config.Now(),

		MinConfidence: w.question.MinConfidence,
	}
	return nil
}

// attach makes datasets of the files that came with the question.
func (w *Run) attach(ctx context.Context) error {
	isFile := func(part *a2a.Part) bool {
		_, ok := part.Content.(a2a.Raw)
		return ok
	}
	if !slices.ContainsFunc(w.message.Parts, isFile) {
		return nil
	}
	_, err := tool(ctx, w, "attach", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, w.config.Lake.Attach(ctx, w.question.Caller, w.question.RunID)
	})
	if errors.Is(err, domain.ErrInvalid) {
		return &attachmentError{err}
	}
	return err
}

// scope is what the run may read.
func (w *Run) scope() domain.DataScope {
	return domain.DataScope{Namespace: w.question.Namespace, ConversationID: w.question.ConversationID}
}

// query runs a query, with the join guard or as it is.
func (w *Run) query(ctx context.Context, sql string, guarded bool) (domain.QueryResult, error) {
	return tool(ctx, w, "query", func(ctx context.Context) (domain.QueryResult, error) {
		if !guarded {
			datasets, err := w.config.Lake.Datasets(ctx, w.question.Caller, w.scope())
			if err != nil {
				return domain.QueryResult{}, err
			}
			return w.config.Lake.QueryOver(ctx, w.question.Caller, datasets, sql)
		}
		return w.config.Lake.QueryGuarded(ctx, w.question.Caller, w.scope(), sql)
	})
}

func (w *Run) search(ctx context.Context, search llm.Search) (domain.QueryResult, error) {
	return tool(ctx, w, "search", func(ctx context.Context) (domain.QueryResult, error) {
		return w.config.Lake.Search(ctx, w.question.Caller, w.scope(), search.Dataset, search.Words, search.Limit)
	})
}

// tool reads data with a span.
func tool[T any](ctx context.Context, w *Run, name string, read func(context.Context) (T, error)) (T, error) {
	ctx, done := w.config.Tracer.Tool(ctx, name)
	result, err := retryWhileUnavailable(ctx, w, func() (T, error) { return read(ctx) })
	done(err)
	return result, err
}

// retryWhileUnavailable retries with exponential backoff while the data is unavailable or
// busy, for at most Config.RetryTimeout.
func retryWhileUnavailable[T any](ctx context.Context, w *Run, ask func() (T, error)) (answer T, err error) {
	policy := retry.Policy{Initial: 50 * time.Millisecond, Max: time.Second, Timeout: w.config.RetryTimeout}
	policy.Retryable = func(err error) bool {
		return policy.Timeout > 0 && (errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrTooMany))
	}
	err = retry.Do(ctx, policy, func() (err error) {
		answer, err = ask()
		return err
	})
	return answer, err
}

// The SDK's store in memory copies tasks with gob, which has to know the type of data.
func init() { gob.Register(json.RawMessage(nil)) }

// newData makes a data part of a value that encodes as JSON.
func newData(value any) *a2a.Part {
	text, err := json.Marshal(value)
	if err != nil {
		panic("data that is not JSON: " + err.Error())
	}
	return a2a.NewDataPart(json.RawMessage(text))
}
