package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

type askAnswer struct {
	Response       json.RawMessage `json:"response"`
	Steps          json.RawMessage `json:"steps"`
	RunID          string          `json:"runId"`
	ConversationID string          `json:"conversationId"`
}

type goneRun struct {
	Question string          `json:"question"`
	Result   json.RawMessage `json:"result"`
}

// question reads a question whose text is in the named field.
func (s *Server) question(f fields, caller storage.Caller, text string) storage.Question {
	question := storage.Question{
		Namespace: storage.NamespaceRef{Owner: f.username("username", caller), Name: f.checkedText("namespace", storage.CheckName)},
		Text:      f.checkedText(text, storage.CheckQuestion),
	}
	question.Provider, question.Model = s.model(f)
	return question
}

// agent reads the name of an agent; the default is the assistant.
func (f fields) agent(name string) string {
	if !f.has(name) {
		return agentAssistant
	}
	return f.checkedText(name, func(agent string) string {
		if agent != agentAssistant && agent != agentNL2QL {
			return fmt.Sprintf("must be '%s' or '%s'", agentAssistant, agentNL2QL)
		}
		return ""
	})
}

func (s *Server) readQuestion(c *gin.Context, caller storage.Caller) (storage.Question, error) {
	f, err := s.readFields(c)
	if err != nil {
		return storage.Question{}, err
	}
	question := s.question(f, caller, "query")
	question.HelperPrompt = f.optionalText("helperPrompt", storage.CheckHelperPrompt)
	question.Agent = f.agent("agent")
	if f.has("conversationId") {
		question.ConversationID = f.id("conversationId")
	}
	return question, f.err()
}

// startRun starts a run, which continues when the request ends.
func (s *Server) startRun(c *gin.Context, caller storage.Caller, question storage.Question) (storage.RunRequest, error) {
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RequestTimeout)
	defer cancel()
	return s.cfg.Agents.Ask(ctx, caller, question)
}

// ask starts a run and streams its progress.
func (s *Server) ask(c *gin.Context, caller storage.Caller) error {
	question, err := s.readQuestion(c, caller)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(c)()
	asking, err := s.startRun(c, caller, question)
	if err != nil {
		return err
	}
	return s.sendProgress(c, caller, runStarted{RunID: asking.RunID, ConversationID: asking.ConversationID})
}

// askAndWait starts a run and answers with its result.
func (s *Server) askAndWait(c *gin.Context, caller storage.Caller) error {
	question, err := s.readQuestion(c, caller)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(c)()
	run, err := s.runToEnd(c, caller, question, func(storage.Progress) {})
	if err != nil {
		return err
	}
	answer := askAnswer{}
	if err := json.Unmarshal(run.Result, &answer); err != nil {
		return fmt.Errorf("read the result of run %s: %w", run.ID, err)
	}
	answer.RunID, answer.ConversationID = run.ID, run.ConversationID
	c.PureJSON(http.StatusOK, answer)
	return nil
}

// resumeRun streams the progress of a run from its start.
func (s *Server) resumeRun(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	run, release, err := s.readRun(c, caller, id)
	if err != nil {
		return err
	}
	defer release()
	switch run.Status {
	case storage.RunCompleted, storage.RunExpired:
		c.PureJSON(http.StatusGone, goneRun{Question: run.Question, Result: run.Result})
		return nil
	case storage.RunFailed:
		return failure(run)
	}
	defer s.extendDeadlines(c)()
	return s.sendProgress(c, caller, runStarted{RunID: run.ID, ConversationID: run.ConversationID})
}

// runToEnd starts a run, passes its progress to tell, and gives the completed run.
func (s *Server) runToEnd(c *gin.Context, caller storage.Caller, question storage.Question, tell func(storage.Progress)) (storage.Run, error) {
	asking, err := s.startRun(c, caller, question)
	if err != nil {
		return storage.Run{}, err
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), s.cfg.RunTimeout)
	defer cancel()
	run, err := s.waitForRun(ctx, caller, asking.RunID, tell)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return run, storage.Errorf(storage.ErrUnavailable, "the answer takes longer than a request may; run %s goes on, and will have it", asking.RunID)
	}
	return run, err
}

func (s *Server) waitForRun(ctx context.Context, caller storage.Caller, id string, tell func(storage.Progress)) (storage.Run, error) {
	for progress, err := range s.cfg.Agents.Follow(ctx, caller, id) {
		if err != nil {
			return storage.Run{}, fmt.Errorf("follow run: %w", err)
		}
		tell(progress)
	}
	run, err := s.cfg.Store.Run(ctx, caller, id)
	if err == nil && run.Status != storage.RunCompleted {
		err = failure(run)
	}
	return run, err
}

// failure gives the error of a run without a result.
func failure(run storage.Run) error {
	switch {
	case !run.Status.Final():
		return fmt.Errorf("run %s is said to have ended and has not", run.ID)
	case run.ErrorMessage == "":
		return storage.Errorf(storage.ErrInvalid, "the run has %s", run.Status)
	}
	return storage.Errorf(storage.ErrInvalid, "%s", run.ErrorMessage)
}
