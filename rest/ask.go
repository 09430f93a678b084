package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"parley/internal/domain"
	"parley/internal/locale"
)

type askAnswer struct {
	Response json.RawMessage `json:"response"`
	Steps    json.RawMessage `json:"steps"`
	runStarted
}

type goneRun struct {
	Question string          `json:"question"`
	Result   json.RawMessage `json:"result"`
}

// question reads a question whose text is in the named field.
func (s *Server) question(f fields, text string) domain.Question {
	question := domain.Question{Namespace: f.namespace(), Text: f.text(text, domain.CheckQuestion)}
	question.Provider, question.Model = s.model(f)
	if f.has("minConfidence") {
		least, ok := decode[float64](f, "minConfidence", "a number from 0 to 1")
		if ok {
			f.check("minConfidence", domain.CheckConfidence(least))
		}
		question.MinConfidence = &least
	}
	return question
}

func (s *Server) readQuestion(r *request) (domain.Question, error) {
	f := r.fields(s.cfg.MaxBody)
	question := s.question(f, "query")
	question.HelperPrompt = f.optionalText("helperPrompt", "", domain.CheckHelperPrompt)
	question.Agent = f.optionalText("agent", agentAssistant, oneOf(agentAssistant, agentNL2QL))
	if f.has("conversationId") {
		question.ConversationID = f.uuid("conversationId")
	}
	if f.has("neverAsk") {
		question.NeverAsk, _ = decode[bool](f, "neverAsk", "true or false")
	}
	return question, r.err()
}

// Model is a model that answers questions.
type Model struct {
	// Name is what a question names it by.
	Name string
	// BuiltIn says that it is the program's own reader, which needs no language model.
	BuiltIn bool
}

type modelJSON struct {
	Name    string `json:"name"`
	BuiltIn bool   `json:"builtIn"`
}

type modelsJSON struct {
	Models []modelJSON `json:"models"`
}

func (s *Server) getModels(*request) (any, error) {
	return modelsJSON{toList(s.cfg.Models, func(m Model) modelJSON { return modelJSON(m) })}, nil
}

// startRun starts a run, which continues when the request ends.
func (s *Server) startRun(r *request, question domain.Question) (domain.Question, error) {
	ctx, cancel := context.WithTimeout(r.ctx(), s.cfg.RequestTimeout)
	defer cancel()
	question.Locale = locale.From(ctx)
	return s.cfg.Agents.Ask(ctx, r.caller, question)
}

// ask starts a run and streams its progress.
func (s *Server) ask(r *request) error {
	question, err := s.readQuestion(r)
	if err != nil {
		return err
	}
	closeStream, err := s.cfg.Agents.OpenStream(r.caller)
	if err != nil {
		return err
	}
	defer closeStream()
	defer s.extendDeadlines(r.Context)()
	run, err := s.startRun(r, question)
	if err != nil {
		return err
	}
	return s.sendProgress(r, runStarted{RunID: run.RunID, ConversationID: run.ConversationID})
}

func (s *Server) askAndWait(r *request) error {
	question, err := s.readQuestion(r)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(r.Context)()
	run, err := s.runToEnd(r, question, func(domain.Progress) {})
	if err != nil {
		return err
	}
	answer := askAnswer{}
	if err := json.Unmarshal(run.Result, &answer); err != nil {
		return fmt.Errorf("read the result of run %s: %w", run.ID, err)
	}
	answer.runStarted = runStarted{RunID: run.ID, ConversationID: run.ConversationID}
	r.PureJSON(http.StatusOK, answer)
	return nil
}

// resumeRun streams the progress of a run from its start.
func (s *Server) resumeRun(r *request) error {
	id := pathID("runId")(r)
	if err := r.err(); err != nil {
		return err
	}
	run, release, err := s.readRun(r.ctx(), r.caller, id)
	if err != nil {
		return err
	}
	defer release()
	switch run.Status {
	case domain.RunCompleted, domain.RunExpired:
		r.PureJSON(http.StatusGone, goneRun{Question: run.Question, Result: run.Result})
		return nil
	case domain.RunFailed:
		return failure(run)
	}
	closeStream, err := s.cfg.Agents.OpenStream(r.caller)
	if err != nil {
		return err
	}
	defer closeStream()
	defer s.extendDeadlines(r.Context)()
	return s.sendProgress(r, runStarted{RunID: run.ID, ConversationID: run.ConversationID})
}

// runToEnd starts a run, passes its progress to report, and returns the completed run. The
// response has no place for a question to the user: the most likely reading is taken.
func (s *Server) runToEnd(r *request, question domain.Question, report func(domain.Progress)) (domain.Run, error) {
	question.NeverAsk = true
	started, err := s.startRun(r, question)
	if err != nil {
		return domain.Run{}, err
	}
	ctx, cancel := context.WithTimeout(r.ctx(), s.cfg.RunTimeout)
	defer cancel()
	run, err := s.waitForRun(ctx, r.caller, started.RunID, report)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return run, domain.Errorf(domain.ErrUnavailable, "the answer takes longer than a request can wait; run %s continues", started.RunID)
	}
	return run, err
}

func (s *Server) waitForRun(ctx context.Context, caller domain.Caller, id string, report func(domain.Progress)) (domain.Run, error) {
	unavailable := false
	for progress, err := range s.cfg.Agents.Follow(ctx, caller, id) {
		if err != nil {
			return domain.Run{}, fmt.Errorf("follow run: %w", err)
		}
		if progress.Kind == domain.InputRequired {
			return domain.Run{}, domain.Errorf(domain.ErrInvalid, "run %s waits for an answer: %s", id, progress.Input.Question)
		}
		unavailable = progress.Unavailable
		report(progress)
	}
	run, err := s.cfg.Store.Run(ctx, caller, id)
	switch {
	case err != nil || run.Status == domain.RunCompleted:
		return run, err
	case unavailable:
		return run, domain.Errorf(domain.ErrUnavailable, "%s", run.ErrorMessage)
	}
	return run, failure(run)
}

// failure returns the error of a run without a result.
func failure(run domain.Run) error {
	switch {
	case !run.Status.Final():
		return fmt.Errorf("run %s was reported as ended but is not", run.ID)
	case run.ErrorMessage == "":
		return domain.Errorf(domain.ErrInvalid, "the run has %s", run.Status)
	}
	return domain.Errorf(domain.ErrInvalid, "%s", run.ErrorMessage)
}
