// Package agentstest runs agents for tests: on a lake and with a model that do
// what a script says, since both live elsewhere, and from any point of a run.
package agentstest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/agents"
	"parley/internal/domain"
	"parley/llm"
)

// The ids of the run that is executed.
const (
	RunID     = "0198a000-0000-7000-8000-000000000001"
	ContextID = "0198a000-0000-7000-8000-000000000002"
	messageID = "0198a000-0000-7000-8000-000000000003"
)

// Script says what the data, the model and the memory of a run do, and keeps what
// they were asked.
type Script struct {
	Question string
	// Data are the datasets, and DatasetsError why there are none.
	Data          []domain.DatasetData
	DatasetsError error
	// Links are those between them.
	Links []domain.MeasuredLink
	// Filename is a file that comes with the question, "" for none, and AttachError why it
	// cannot be read.
	Filename    string
	AttachError error
	// Results are what statements give; Errors why they fail. What is in
	// neither is ErrInvalid.
	Results map[string]domain.QueryResult
	Errors  map[string]error
	// Verified is the query that was verified for the question, "" for none.
	Verified string
	// Units are those of the columns of all datasets.
	Units map[string]string
	// Found is what each search gives.
	Found domain.QueryResult
	// Steps is the plan.
	Steps     []string
	Reasoning string
	PlanError error
	// Write writes queries.
	Write func(task llm.QueryTask) (llm.Query, error)
	// Markdown is the answer.
	Markdown    string
	AnswerError error
	// Turns are those of the conversation, and Read those whose large results were
	// read.
	Turns []domain.Run
	Read  []string
	// References are the tasks that the question refers to.
	References []a2a.TaskID
	// JobsError is the error of all jobs.
	JobsError error

	mu sync.Mutex
	// Asked are the jobs that were asked for, Ran the statements and searches, Listed how
	// often the datasets were.
	Asked, Ran []string
	Listed     int
	// Rated are the ratings of runs.
	Rated []domain.Rating
	// Planned, Written and Answered are what the jobs were given last.
	Planned  llm.Task
	Written  llm.QueryTask
	Answered llm.AnswerTask
}

func (s *Script) asked(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked = append(s.Asked, job)
}

// Config is what an agent needs to follow the script.
func (s *Script) Config() agents.Config {
	return agents.Config{
		Lake: lake{s}, Memory: memory{s}, Models: models{s}, Verified: verified{s}, Feedback: feedback{s}, Profiles: profiles{s}, Log: slog.New(slog.DiscardHandler), Tracer: tracer{}, JobTimeout: time.Minute,
	}
}

type tracer struct{}

func (tracer) Model(ctx context.Context, _ string) (context.Context, func(llm.Usage, error)) {
	return ctx, func(llm.Usage, error) {}
}

func (tracer) Tool(ctx context.Context, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}

type models struct{ *Script }

func (m models) Jobs(string, string) (llm.Jobs, error) { return jobs(m), m.JobsError }

type jobs struct{ *Script }

func (j jobs) Plan(ctx context.Context, task llm.Task) (llm.Plan, error) {
	j.asked("plan")
	j.Planned = task
	return llm.Plan{Steps: j.Steps, Reasoning: j.Reasoning}, errors.Join(j.PlanError, ctx.Err())
}

func (j jobs) WriteQuery(ctx context.Context, task llm.QueryTask) (llm.Query, error) {
	j.asked("query " + task.Instruction)
	j.Written = task
	query, err := j.Write(task)
	return query, errors.Join(err, ctx.Err())
}

func (j jobs) Answer(ctx context.Context, task llm.AnswerTask) (llm.Answer, error) {
	j.asked("answer")
	j.Answered = task
	return llm.Answer{Markdown: j.Markdown}, errors.Join(j.AnswerError, ctx.Err())
}

// Turn is a turn of a conversation, with its result.
func Turn(runID, question string, result json.RawMessage) domain.Run {
	return domain.Run{ID: runID, Question: question, RunOutcome: domain.RunOutcome{Result: result}}
}

type memory struct{ *Script }

func (m memory) RecentTurns(_ context.Context, caller domain.Caller, conversation string, limit int) ([]domain.Run, error) {
	if caller.Username != "ann" || conversation != ContextID || limit != 20 {
		return nil, errors.New("turns of another conversation")
	}
	var turns []domain.Run
	for _, turn := range slices.Backward(m.Turns) {
		if turn.ResultBytes = len(turn.Result); turn.ResultBytes > domain.InlineResult {
			turn.Result = nil
		}
		turns = append(turns, turn)
	}
	return turns, nil
}

// Run returns the run of a turn.
func (m memory) Run(_ context.Context, caller domain.Caller, id string) (domain.Run, error) {
	at := slices.IndexFunc(m.Turns, func(turn domain.Run) bool { return turn.ID == id })
	if caller.Username != "ann" || at < 0 {
		return domain.Run{}, domain.ErrNotFound
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Read = append(m.Read, id)
	return domain.Run{ID: id, Question: m.Turns[at].Question, RunOutcome: domain.RunOutcome{Result: m.Turns[at].Result}}, nil
}

type verified struct{ *Script }

func (v verified) VerifiedQuery(_ context.Context, caller domain.Caller, in domain.NamespaceRef, question string) (domain.SavedQuery, error) {
	if caller.Username != "ann" || in.Name != "shop" || question != v.Question || v.Verified == "" {
		return domain.SavedQuery{}, domain.ErrNotFound
	}
	return domain.SavedQuery{Query: v.Verified, SavedBy: "ann"}, nil
}

type feedback struct{ *Script }

func (f feedback) Rate(_ context.Context, caller domain.Caller, rating domain.Rating) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Rated = append(f.Rated, rating)
	if caller.Username != "ann" {
		return domain.ErrNotFound
	}
	return nil
}

type profiles struct{ *Script }

func (p profiles) Profile(_ context.Context, caller domain.Caller, _ domain.DatasetRef) (profile domain.DatasetProfile, err error) {
	if caller.Username != "ann" {
		return profile, domain.ErrNotFound
	}
	for name, unit := range p.Units {
		profile.Columns = append(profile.Columns, domain.ColumnProfile{Name: name, Unit: unit})
	}
	return profile, nil
}

type lake struct{ *Script }

func (l lake) check(caller domain.Caller, in domain.DataScope) error {
	if caller.Username != "ann" || in.Namespace.Name != "shop" || in.ConversationID != ContextID {
		return errors.New("data of another namespace")
	}
	return nil
}

// Attach implements agents.Lake.
func (l lake) Attach(_ context.Context, caller domain.Caller, runID string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ran = append(l.Ran, "attach")
	if caller.Username != "ann" || runID != RunID {
		return errors.New("attachments of another run")
	}
	return l.AttachError
}

func (l lake) Datasets(_ context.Context, caller domain.Caller, in domain.DataScope) ([]domain.DatasetData, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Listed++
	return l.Data, errors.Join(l.check(caller, in), l.DatasetsError)
}

func (l lake) LinksBetween(context.Context, domain.Caller, domain.NamespaceRef, []domain.DatasetData) ([]domain.MeasuredLink, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Links, nil
}

func (l lake) QueryGuarded(_ context.Context, caller domain.Caller, in domain.DataScope, sql string) (domain.QueryResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ran = append(l.Ran, sql)
	if err := errors.Join(l.check(caller, in), l.Errors[sql]); err != nil {
		return domain.QueryResult{}, err
	}
	result, ok := l.Results[sql]
	if !ok {
		return result, domain.Errorf(domain.ErrInvalid, "there is no table like that; did you mean `orders`?")
	}
	return result, nil
}

func (l lake) QueryOver(ctx context.Context, caller domain.Caller, _ []domain.DatasetData, sql string) (domain.QueryResult, error) {
	return l.QueryGuarded(ctx, caller, domain.DataScope{Namespace: domain.NamespaceRef{Owner: "ann", Name: "shop"}, ConversationID: ContextID}, sql)
}

func (l lake) Search(_ context.Context, caller domain.Caller, in domain.DataScope, dataset, words string, _ int) (domain.QueryResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Ran = append(l.Ran, "search "+dataset+" for "+words)
	return l.Found, l.check(caller, in)
}

// Message is the message that asks the script's question.
func (s *Script) Message() *a2a.Message {
	message := &a2a.Message{
		ID: messageID, Role: a2a.MessageRoleUser, TaskID: RunID, ContextID: ContextID,
		Parts: a2a.ContentParts{a2a.NewTextPart(s.Question)}, ReferenceTasks: s.References,
	}
	if s.Filename != "" {
		message.Parts = append(message.Parts, &a2a.Part{Content: a2a.Raw{}, Filename: s.Filename})
	}
	return message
}

// Context returns the context of an agent that answers the question, with other settings.
func (s *Script) Context(ctx context.Context, settings ...func(*domain.Question)) context.Context {
	question := domain.Question{
		RunID: RunID, Caller: domain.Caller{Username: "ann"}, ConversationID: ContextID, Text: s.Question,
		Namespace: domain.NamespaceRef{Owner: "ann", Name: "shop"},
	}
	for _, set := range settings {
		set(&question)
	}
	return domain.WithQuestion(ctx, question)
}

// Request asks the question, from where a task is; nil for a new one.
func (s *Script) Request(stored *a2a.Task) *a2asrv.ExecutorContext {
	return &a2asrv.ExecutorContext{Message: s.Message(), TaskID: RunID, ContextID: ContextID, StoredTask: stored}
}

// Run has an agent answer the question, from where a task is; nil for a new one.
func (s *Script) Run(t testing.TB, executor a2asrv.AgentExecutor, stored *a2a.Task, settings ...func(*domain.Question)) []a2a.Event {
	t.Helper()
	var events []a2a.Event
	for event, err := range executor.Execute(s.Context(t.Context(), settings...), s.Request(stored)) {
		if err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, event)
	}
	return events
}

// Fold returns what events come to, as it is read back from a log: with its data
// as JSON, or in maps.
func (s *Script) Fold(t testing.TB, events []a2a.Event, raw bool) *a2a.Task {
	t.Helper()
	return FoldInto(t, &a2a.Task{ID: RunID, ContextID: ContextID, History: []*a2a.Message{s.Message()}}, events, raw)
}

// FoldInto is Fold for events that follow a task.
func FoldInto(t testing.TB, before *a2a.Task, events []a2a.Event, raw bool) *a2a.Task {
	t.Helper()
	task := new(*before)
	for _, event := range events {
		switch event := Reread(t, event, raw).(type) {
		case *a2a.Task:
			task = event
		case *a2a.TaskStatusUpdateEvent:
			if task.Status.Message != nil {
				task.History = append(slices.Clip(task.History), task.Status.Message)
			}
			task.Status = event.Status
		case *a2a.TaskArtifactUpdateEvent:
			task.Artifacts = append(slices.Clip(task.Artifacts), event.Artifact)
		}
	}
	return task
}

// Reread writes an event and reads it back.
func Reread(t testing.TB, event a2a.Event, raw bool) a2a.Event {
	t.Helper()
	var back a2a.StreamResponse
	if err := json.Unmarshal(Line(t, event), &back); err != nil {
		t.Fatal(err)
	}
	if !raw {
		return back.Event
	}
	for i, part := range partsOf(back.Event) {
		if _, ok := part.Content.(a2a.Data); ok {
			part.Content = partsOf(event)[i].Content
		}
	}
	return back.Event
}

func partsOf(event a2a.Event) a2a.ContentParts {
	switch event := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		if event.Status.Message != nil {
			return event.Status.Message.Parts
		}
	case *a2a.TaskArtifactUpdateEvent:
		return event.Artifact.Parts
	}
	return nil
}

// Line writes an event as it goes over the wire.
func Line(t testing.TB, event a2a.Event) []byte {
	t.Helper()
	line, err := json.Marshal(a2a.StreamResponse{Event: event})
	if err != nil {
		t.Fatalf("write an event: %v", err)
	}
	return line
}

// Lines writes events, one a line.
func Lines(t testing.TB, events []a2a.Event) []byte {
	t.Helper()
	var lines []byte
	for _, event := range events {
		lines = append(append(lines, Line(t, event)...), '\n')
	}
	return lines
}

// Rows makes the result of a query.
func Rows(sql string, columns []string, rows ...string) domain.QueryResult {
	result := domain.QueryResult{SQL: sql}
	for _, name := range columns {
		result.Columns = append(result.Columns, domain.Column{Name: name, Type: "VARCHAR"})
	}
	for _, row := range rows {
		result.Rows = append(result.Rows, json.RawMessage(row))
	}
	return result
}

// Shop are datasets to ask about.
func Shop() []domain.DatasetData {
	about := "What was bought, by whom."
	return []domain.DatasetData{
		{ID: "d1", Version: 3, Dataset: domain.Dataset{
			Owner: "ann", Namespace: "shop", Name: "orders", RowCount: 7,
			Definition: domain.Definition{Description: &about, Schema: map[string]string{"Total": "in euros", "gone": "no such column"}},
			Columns:    []domain.Column{{Name: "id", Type: "BIGINT"}, {Name: "customer", Type: "VARCHAR"}, {Name: "total", Type: "DOUBLE"}},
		}},
		{ID: "d2", Version: 1, Dataset: domain.Dataset{
			Owner: "ann", Namespace: "shop", Name: "notes", RowCount: 2,
			Columns: []domain.Column{{Name: "document", Type: "VARCHAR"}, {Name: "passage", Type: "BIGINT"}, {Name: "text", Type: "VARCHAR"}},
		}},
	}
}
