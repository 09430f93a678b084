package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"parley/storage"
)

type runJSON struct {
	RunID        string            `json:"runId"`
	AgentKind    string            `json:"agentKind"`
	Question     string            `json:"question"`
	Status       storage.RunStatus `json:"status"`
	CanResume    bool              `json:"canResume"`
	LastNodeID   *string           `json:"lastNodeId"`
	ErrorMessage *string           `json:"errorMessage"`
	Result       json.RawMessage   `json:"result"`
	// InputRequired is what it asks its asker while it waits for the answer.
	InputRequired *inputJSON `json:"inputRequired,omitempty"`
}

func toRun(r storage.Run) runJSON {
	return runJSON{
		RunID: r.ID, AgentKind: r.Agent, Question: r.Question, Status: r.Status, CanResume: !r.Status.Final(),
		LastNodeID: orNull(r.LastNodeID), ErrorMessage: orNull(r.ErrorMessage), Result: r.Result,
	}
}

func (s *Server) getRun(r *request, id string) (any, error) {
	run, release, err := s.readRun(r, id)
	if err != nil {
		return nil, err
	}
	defer release()
	shown := toRun(run)
	if shown.InputRequired, err = s.input(r, run); err != nil {
		return nil, err
	}
	r.PureJSON(http.StatusOK, shown) // while its memory is reserved
	return nil, nil
}

func (s *Server) deleteRun(r *request, id string) (any, error) {
	// Checked before the run is stopped: a token that may not delete it must not cancel it.
	if err := s.cfg.Store.MayDeleteRun(r.ctx(), r.caller, id); err != nil {
		return nil, err
	}
	if err := s.cfg.Agents.Stop(r.ctx(), r.caller, id); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.DeleteRun(r.ctx(), r.caller, id)
}

// Feedback stores ratings of completed runs: storage.ErrRunNotCompleted for others,
// storage.ErrTracing when the tracing service refuses it.
type Feedback interface {
	Rate(ctx context.Context, caller storage.Caller, rating storage.Rating) error
}

func (s *Server) rateRun(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	thumbsUp, _ := decode[bool](f, "thumbsUp", "true or false")
	rating := storage.Rating{ThumbsUp: thumbsUp, Comment: f.optionalText("comment", "", storage.CheckComment), RunID: r.fieldID("runId")}
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Feedback.Rate(r.ctx(), r.caller, rating)
}

type inputJSON struct {
	Question string                `json:"question"`
	Options  []storage.InputOption `json:"options"`
}

func toInput(input *storage.Input) *inputJSON {
	if input == nil {
		return nil
	}
	return &inputJSON{Question: input.Question, Options: append([]storage.InputOption{}, input.Options...)}
}

// input gives what a run asks its asker; nil when it does not wait.
func (s *Server) input(r *request, run storage.Run) (*inputJSON, error) {
	if run.Status.Final() {
		return nil, nil
	}
	input, err := s.cfg.Agents.Input(r.ctx(), r.caller, run.ID)
	return toInput(input), err
}

var errNotWaiting = storage.Errorf(storage.ErrConflict, "the run does not wait for an answer")

// answerRun answers what a run asks, with an option or a text, and resumes it.
func (s *Server) answerRun(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	id := r.fieldID("runId")
	option, text := f.optionalText("option", "", storage.CheckQuestion), f.optionalText("text", "", storage.CheckQuestion)
	switch {
	case f.has("option") && f.has("text"):
		f.check("option", "and text cannot both be given")
	case !f.has("option") && !f.has("text"):
		f.check("option", "or text is required")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if !f.has("option") {
		return nil, s.cfg.Agents.Answer(r.ctx(), r.caller, id, text)
	}
	input, err := s.cfg.Agents.Input(r.ctx(), r.caller, id)
	switch {
	case err != nil:
		return nil, err
	case input == nil:
		return nil, errNotWaiting
	case !slices.ContainsFunc(input.Options, func(o storage.InputOption) bool { return o.ID == option }):
		f.check("option", "must be the id of one of the options")
		return nil, r.err()
	}
	return nil, s.cfg.Agents.Answer(r.ctx(), r.caller, id, option)
}

type sharedRunJSON struct {
	ID        string          `json:"id"`
	AskedBy   string          `json:"askedBy"`
	Owner     string          `json:"username"`
	Namespace string          `json:"namespace"`
	AgentKind string          `json:"agentKind"`
	Question  string          `json:"question"`
	SharedAt  time.Time       `json:"sharedAt"`
	Result    json.RawMessage `json:"result"`
}

// shareRun makes a link to a run for those who may read what its queries read.
func (s *Server) shareRun(r *request, id string) (any, error) {
	in, err := s.cfg.Store.SharableRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	run, release, err := s.readRun(r, id)
	if err != nil {
		return nil, err
	}
	defer release()
	var result struct{ Steps []struct{ Query string } }
	if err := json.Unmarshal(run.Result, &result); err != nil {
		return nil, fmt.Errorf("read the result of run %s: %w", id, err)
	}
	var queries []string
	for _, step := range result.Steps {
		queries = append(queries, step.Query)
	}
	datasets, err := s.cfg.Lake.QueryDatasets(r.ctx(), r.caller, in, queries...)
	if errors.Is(err, storage.ErrInvalid) { // what it read cannot be told from its queries
		return nil, storage.Errorf(storage.ErrInvalid, "this answer cannot be shared: it has a step without a query that can be run now; ask the question again")
	}
	if err != nil {
		return nil, err
	}
	share, err := s.cfg.Store.ShareRun(r.ctx(), r.caller, id, datasets)
	return createdID{ID: share}, err
}

func (s *Server) getShared(r *request, id string) (any, error) {
	shared, err := s.cfg.Store.SharedRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	release, err := s.reserve(r, shared.ResultBytes)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := s.cfg.Store.SharedResult(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	r.PureJSON(http.StatusOK, sharedRunJSON{ // while its memory is reserved
		ID: shared.ID, AskedBy: shared.AskedBy, Owner: shared.Namespace.Owner, Namespace: shared.Namespace.Name,
		AgentKind: shared.Agent, Question: shared.Question, SharedAt: shared.SharedAt, Result: result,
	})
	return nil, nil
}
