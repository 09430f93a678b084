package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
)

var _ rest.Agents = (*scriptedAgents)(nil)

// scriptedAgents have their lines by heart. Runs are in the store for real, and
// have ended by the time that they can be followed, unless follow is set.
type scriptedAgents struct {
	store *sqlstore.Store
	// follow, where set, has runs go on, and is what they come to.
	follow func(ctx context.Context, runID string, yield func(domain.Progress, error) bool)
	// grpc, where set, answers calls of gRPC.
	grpc func(w http.ResponseWriter)

	mu sync.Mutex
	// asked is what was asked last, stopped the last run that was.
	asked   domain.Question
	stopped string
	lines   map[string][]domain.Progress
}

func (*scriptedAgents) PushTo(_ domain.Caller, id, address, _ string) (domain.PushConfig, error) {
	if !strings.HasPrefix(address, "https://") {
		return domain.PushConfig{}, domain.Errorf(domain.ErrInvalid, "url must be https")
	}
	return domain.PushConfig{ID: id, URL: address, Receiver: "receiver"}, nil
}

// linesFor is what an agent has to say to a question.
func linesFor(agent, question string) []domain.Progress {
	step := domain.Step{
		Instruction: "Count the <orders>", Query: "SELECT count(*) AS n FROM orders", Reasoning: "One row an order",
		Data: []json.RawMessage{json.RawMessage(`{"n": 3, "big": 12345678901234567890, "text": "a < b & c\n",` + "\n" + `"__metadata": {"score": 1.0}}`)},
	}
	switch {
	case strings.HasPrefix(question, "Which"):
		return []domain.Progress{{Kind: domain.PlanningStarted}, {Kind: domain.InputRequired, Input: &domain.Input{
			Question: "Which do you mean?",
			Options:  []domain.InputOption{{ID: "1", Label: "number of <orders>", Query: "SELECT count(*) FROM orders"}, {ID: "2", Label: "sum of price"}},
		}}}
	case strings.HasPrefix(question, "Fail"):
		return []domain.Progress{{Kind: domain.PlanningStarted}, {Kind: domain.RunHasFailed, Text: "table `order` does not exist"}}
	case strings.HasPrefix(question, "Unreachable"):
		return []domain.Progress{{Kind: domain.PlanningStarted}, {Kind: domain.RunHasFailed, Text: "the language model cannot be reached", Unavailable: true}}
	case agent == "nl2ql":
		step.Instruction = question
		if strings.HasPrefix(question, "Too many") {
			step.Truncated = true
		}
		if strings.HasPrefix(question, "None") {
			step.Data = nil
		}
		return []domain.Progress{
			{Kind: domain.StepStarted, Step: domain.Step{Instruction: step.Instruction}},
			{Kind: domain.QueryExecuting, Step: step},
			{Kind: domain.StepDone, Step: step},
			{Kind: domain.AnswerStarted},
			{Kind: domain.Answered, Text: fmt.Sprintf("%d row(s)", len(step.Data))},
		}
	case strings.HasPrefix(question, "Hello"):
		return []domain.Progress{{Kind: domain.PlanningStarted}, {Kind: domain.Planned}, {Kind: domain.AnswerStarted}, {Kind: domain.Answered, Text: "Hello."}}
	}
	return []domain.Progress{
		{Kind: domain.PlanningStarted},
		{Kind: domain.Planned, Steps: []string{step.Instruction, "Say so"}, Reasoning: "They must be <counted>."},
		{Kind: domain.StepStarted, Step: domain.Step{Instruction: step.Instruction}},
		{Kind: domain.QueryExecuting, Step: step},
		{}, // still at it
		{Kind: domain.StepDone, Step: step},
		{Kind: domain.StepStarted, Index: 1, Step: domain.Step{Instruction: "Say so"}},
		{Kind: domain.StepDone, Index: 1, Step: domain.Step{Instruction: "Say so"}},
		{Kind: domain.AnswerStarted},
		{Kind: domain.Answered, Text: "There are **3**.\nReally."},
	}
}

// outcomeOf is how a run with these lines ends.
func outcomeOf(lines []domain.Progress) domain.RunOutcome {
	steps := []map[string]any{}
	for _, line := range lines {
		switch line.Kind {
		case domain.StepDone:
			data := line.Step.Data
			if data == nil {
				data = []json.RawMessage{}
			}
			steps = append(steps, map[string]any{
				"instruction": line.Step.Instruction, "query": line.Step.Query, "reasoning": line.Step.Reasoning, "data": data})
		case domain.RunHasFailed:
			return domain.RunOutcome{Status: domain.RunFailed, ErrorMessage: line.Text}
		}
	}
	result, err := json.Marshal(map[string]any{"response": lines[len(lines)-1].Text, "steps": steps})
	if err != nil {
		panic(err)
	}
	return domain.RunOutcome{Status: domain.RunCompleted, Result: result}
}

func (a *scriptedAgents) Ask(ctx context.Context, caller domain.Caller, question domain.Question) (domain.Question, error) {
	if question.Model == "unknown" {
		return domain.Question{}, domain.Errorf(domain.ErrInvalid, "there is no model 'unknown'")
	}
	asked := question
	if question.ConversationID == "" {
		question.ConversationID = uuid.NewString()
	} else if _, _, err := a.store.Conversation(ctx, caller, question.ConversationID, domain.TurnPage{}); err != nil {
		return domain.Question{}, err
	}
	asking, err := sqlstoretest.Ask(ctx, a.store, caller, question)
	if err != nil {
		return asking, err
	}
	lines := linesFor(question.Agent, question.Text)
	if question.NeverAsk && lines[len(lines)-1].Kind == domain.InputRequired {
		lines = linesFor(question.Agent, "")
	}
	a.mu.Lock()
	a.asked, a.lines[asking.RunID] = asked, lines
	a.mu.Unlock()
	if a.follow == nil && lines[len(lines)-1].Kind != domain.InputRequired {
		err = sqlstoretest.Finish(ctx, a.store, caller, asking.RunID, outcomeOf(lines))
	}
	return asking, err
}

func (a *scriptedAgents) Input(ctx context.Context, caller domain.Caller, runID string) (*domain.Input, error) {
	if _, err := a.store.Task(ctx, caller, "", runID, false); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if lines := a.lines[runID]; len(lines) > 0 {
		return lines[len(lines)-1].Input, nil
	}
	return nil, nil
}

// Answer ends the run, as if any answer were right.
func (a *scriptedAgents) Answer(ctx context.Context, caller domain.Caller, runID, answer string) error {
	if input, err := a.Input(ctx, caller, runID); err != nil {
		return err
	} else if input == nil {
		return domain.Errorf(domain.ErrConflict, "the run does not wait for an answer")
	}
	lines := []domain.Progress{{Kind: domain.PlanningStarted}, {Kind: domain.Answered, Text: "You said " + answer + "."}}
	a.mu.Lock()
	a.lines[runID] = lines
	a.mu.Unlock()
	return sqlstoretest.Finish(ctx, a.store, caller, runID, outcomeOf(lines))
}

func (a *scriptedAgents) OpenStream(caller domain.Caller) (func(), error) {
	if caller.Username == "streamer" {
		return nil, domain.Errorf(domain.ErrTooMany, "you have too many open streams")
	}
	return func() {}, nil
}

func (a *scriptedAgents) Stop(ctx context.Context, caller domain.Caller, runID string) error {
	a.mu.Lock()
	a.stopped = runID
	a.mu.Unlock()
	_, err := a.store.Task(ctx, caller, "", runID, false)
	return err
}

func (a *scriptedAgents) Follow(ctx context.Context, _ domain.Caller, runID string) iter.Seq2[domain.Progress, error] {
	return func(yield func(domain.Progress, error) bool) {
		if a.follow != nil {
			a.follow(ctx, runID, yield)
			return
		}
		a.mu.Lock()
		lines, ok := a.lines[runID]
		a.mu.Unlock()
		if !ok {
			lines = linesFor("assistant", "")
		}
		for _, line := range lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

func (a *scriptedAgents) Call(w http.ResponseWriter, _ *http.Request, caller domain.Caller, agent, path string, body []byte) error {
	if agent != "nl2ql" && agent != "assistant" {
		return domain.ErrNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	if strings.Contains(path, "/") {
		w.Header().Set("X-Namespace", path)
	}
	return json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": nil, "result": map[string]any{
		"agent": agent, "caller": caller.Username, "restricted": caller.Restricted(), "body": body}})
}

func (a *scriptedAgents) ServeNamespaceCard(w http.ResponseWriter, _ *http.Request, caller domain.Caller, agent string, namespace domain.NamespaceRef) error {
	if agent != "nl2ql" && agent != "assistant" {
		return domain.ErrNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"name": agent, "namespace": namespace.String(), "caller": caller.Username, "restricted": caller.Restricted()})
}

func (a *scriptedAgents) CallHTTP(w http.ResponseWriter, _ *http.Request, caller domain.Caller, agent, path string, body []byte) error {
	if agent != "nl2ql" && agent != "assistant" {
		return domain.ErrNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{
		"agent": agent, "path": path, "caller": caller.Username, "restricted": caller.Restricted(), "body": body})
}

func (a *scriptedAgents) RefuseHTTP(w http.ResponseWriter, _ *http.Request, status int, message string) {
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "refused: %s", message)
}

func (a *scriptedAgents) ServeGRPC(w http.ResponseWriter, _ *http.Request, session auth.Session, refused error) {
	if a.grpc != nil {
		a.grpc(w)
		return
	}
	w.Header().Set("Grpc-Status", "0")
	_, _ = fmt.Fprintf(w, "%s %v", session.Caller.Username, refused)
}

func (a *scriptedAgents) ServeCatalog(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, "[{\"name\":\"nl2ql\",\"url\":\"%s/a2a/nl2ql\"}]\n", baseurl.From(r.Context()))
	return err
}

func (a *scriptedAgents) ServeAICatalog(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/ai-catalog+json")
	_, err := fmt.Fprintf(w, "{\"entries\":[{\"url\":\"%s/a2a/nl2ql\"}]}\n", baseurl.From(r.Context()))
	return err
}

func (a *scriptedAgents) ServeKeys(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/jwk-set+json")
	_, err := fmt.Fprintln(w, `{"keys":[]}`)
	return err
}

func (a *scriptedAgents) ServeCard(w http.ResponseWriter, r *http.Request, agent string) error {
	if agent != "nl2ql" && agent != "assistant" {
		return domain.ErrNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, "{\"name\":\"%s\",\"url\":\"%s/a2a/%s\"}\n", agent, baseurl.From(r.Context()), agent)
	return err
}

func (a *scriptedAgents) ServeLegacyCard(w http.ResponseWriter, r *http.Request, agent string) error {
	return a.ServeCard(w, r, agent)
}

func (a *scriptedAgents) Examples(context.Context, domain.Caller, domain.DatasetRef) ([]string, error) {
	return []string{"How many orders are there?"}, nil
}
