package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
)

func inputMessage(info a2a.TaskInfo, input domain.Input) *a2a.Message {
	data, _ := json.Marshal(input) // of texts alone
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, info, a2a.NewTextPart(input.Text()), a2a.NewDataPart(json.RawMessage(data)))
}

// isWaiting reports whether a task in this state waits for its client.
func isWaiting(state a2a.TaskState) bool {
	return state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
}

// waitingTask returns the task that a message without a task id answers, or has answered: the
// only one in its conversation that waits, if any.
func (s *agentService) waitingTask(ctx context.Context, question domain.Question) (a2a.TaskID, error) {
	if question.ConversationID == "" {
		return "", nil
	}
	waiting, err := s.host.cfg.Log.WaitingRuns(ctx, question.Caller, s.agent.Name, question.ConversationID, question.Message.Key)
	if err != nil || len(waiting) != 1 {
		return "", err
	}
	return a2a.TaskID(waiting[0]), nil
}

// answer resumes a waiting task with the message that answers its question.
func (s *agentService) answer(ctx context.Context, who domain.Caller, stored domain.Task, request *a2a.SendMessageRequest) (*run, error) {
	task, err := a2ajson.ReadTask(stored)
	if err != nil {
		return nil, err
	}
	if err := checkAnswer(request.Message); err != nil {
		return nil, err
	}
	if !stored.MayCancel {
		return nil, domain.ErrReadOnlyToken
	}
	sent, err := sentMessage(request)
	if err != nil {
		return nil, err
	}
	answered := domain.AnsweredRun{
		RunID: stored.RunID, After: stored.LastEvent, State: string(a2a.TaskStateSubmitted), Caller: who, Message: sent.Key,
	}
	if input := s.agent.Input(task.Status); input != nil && input.Name == namespaceInput {
		if answered.NamespaceID, err = s.answeredNamespaceID(ctx, who, stored, input, request); err != nil {
			return nil, err
		}
	}
	if answered.Push, err = s.inlinePush(ctx, who, request); err != nil {
		return nil, err
	}
	if answered.Push != nil {
		answered.Push.RunID = stored.RunID
	}
	message := *request.Message
	message.TaskID, message.ContextID = task.ID, task.ContextID
	if task.Status.Message != nil {
		task.History = append(slices.Clip(task.History), task.Status.Message)
	}
	task.History = append(slices.Clip(task.History), &message)
	now := time.Now().UTC().Truncate(time.Millisecond)
	task.Status = a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: &now}
	if answered.Snapshot, err = a2ajson.Snapshot(task); err != nil {
		return nil, err
	}
	s.host.recent.add(who.Username, s.agent.Name, sent.Key)
	return s.host.resumeAnswered(ctx, s.agent, answered, task)
}

// checkAnswer refuses a message that is no answer. Whether it is one of the options is for
// the agent to say.
func checkAnswer(message *a2a.Message) error {
	text, err := readText(message)
	if err != nil {
		return err
	}
	if problem := domain.CheckQuestion(text); problem != "" {
		return fmt.Errorf("%w: %w", a2a.ErrInvalidParams, domain.Errorf(domain.ErrInvalid, "the answer %s", problem).At("message.parts"))
	}
	for i, part := range message.Parts {
		if !isText(part) {
			return refusePart(i, part, "an answer is text; files come with a question")
		}
	}
	return nil
}

// Input returns what one of the caller's runs asks the user; nil when it does not wait.
func (h *Host) Input(ctx context.Context, caller domain.Caller, runID string) (*domain.Input, error) {
	stored, err := h.cfg.Log.Task(ctx, caller, "", runID, false)
	s := h.services[stored.Agent] // without one no host takes the answer
	if err != nil || s == nil || !isWaiting(a2a.TaskState(stored.State)) {
		return nil, err
	}
	task, err := a2ajson.ReadTask(stored)
	if err != nil {
		return nil, err
	}
	return s.agent.Input(task.Status), nil
}

// Answer answers what one of the caller's runs asks, with the id of an option or a text, and
// resumes it. ErrConflict when it does not wait, ErrInvalid when it takes no such answer.
func (h *Host) Answer(ctx context.Context, caller domain.Caller, runID, answer string) error {
	stored, err := h.cfg.Log.Task(ctx, caller, "", runID, false)
	if err != nil {
		return err
	}
	s, ok := h.services[stored.Agent]
	if !ok {
		return domain.Errorf(domain.ErrUnavailable, "the agent of this run is not available")
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(answer))
	ctx, reserved := h.cfg.withReservation(ctx)
	defer reserved.release()
	_, err = s.continueTask(ctx, caller, a2a.TaskID(runID), &a2a.SendMessageRequest{Message: message})
	switch {
	case errors.Is(err, a2a.ErrUnsupportedOperation):
		return domain.Errorf(domain.ErrConflict, "the run does not wait for an answer")
	case errors.Is(err, a2a.ErrTaskNotFound):
		return domain.ErrNotFound
	}
	return invalidFor("the answer", err)
}

// answeredNamespaceID returns the id of the namespace that an answer names.
func (s *agentService) answeredNamespaceID(ctx context.Context, who domain.Caller, stored domain.Task, input *domain.Input, request *a2a.SendMessageRequest) (string, error) {
	ref, err := s.answeredNamespace(ctx, who, input, request)
	if err != nil {
		return "", err
	}
	run := domain.Question{Caller: who, Namespace: ref, ConversationID: stored.ConversationID}
	err = s.host.cfg.Log.ResolveRun(ctx, &run)
	if errors.Is(err, domain.ErrNotFound) {
		err = errNoNamespace
	}
	return run.NamespaceID, err
}

func (h *Host) resumeAnswered(ctx context.Context, agent *Agent, answered domain.AnsweredRun, task *a2a.Task) (*run, error) {
	r, err := h.admit(agent, domain.Question{RunID: answered.RunID, Caller: answered.Caller}, questionMessage(task))
	if err != nil {
		return nil, err
	}
	// Attached before this host owns it: see releaseOrphans.
	r.task, r.storedTask, r.number, r.after = task, task, answered.After, answered.After
	r.broadcaster.attach(r, r.number)
	claim, err := h.cfg.Log.ResumeRun(ctx, h.id, answered)
	if err != nil {
		h.release(r)
		h.runs.Done()
		return nil, err
	}
	r.question = claim.Question
	unreadable := readSettings(&r.question, r.message)
	close(r.committed)
	if answered.Push != nil {
		h.sender.Added(answered.RunID)
	}
	go func() {
		defer h.runs.Done()
		if unreadable != nil {
			r.failUnstarted(unreadable, domain.RunFailed)
			return
		}
		r.work()
	}()
	return r, nil
}
