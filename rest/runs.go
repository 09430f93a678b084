package rest

import (
	"context"
	"encoding/json"
	"net/http"

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
