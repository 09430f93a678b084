package rest

import (
	"encoding/json"
	"net/http"
	"slices"

	"parley/internal/domain"
)

type runJSON struct {
	RunID        string           `json:"runId"`
	AgentKind    string           `json:"agentKind"`
	Question     string           `json:"question"`
	Status       domain.RunStatus `json:"status"`
	CanResume    bool             `json:"canResume"`
	LastNodeID   *string          `json:"lastNodeId"`
	ErrorMessage *string          `json:"errorMessage,omitempty"`
	Result       json.RawMessage  `json:"result"`
	// InputRequired is what it asks the user while it waits for the answer.
	InputRequired *inputJSON `json:"inputRequired,omitempty"`
}

func toRun(r domain.Run) runJSON {
	return runJSON{
		RunID: r.ID, AgentKind: r.Agent, Question: r.Question, Status: r.Status, CanResume: !r.Status.Final(),
		LastNodeID: orNull(r.LastNodeID), ErrorMessage: orNull(r.ErrorMessage), Result: r.Result,
	}
}

func (s *Server) getRun(r *request, id string) (any, error) {
	run, release, err := s.readRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	defer release()
	shown := toRun(run)
	if shown.InputRequired, err = s.input(r, run); err != nil {
		return nil, err
	}
	r.endShort()
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

func (s *Server) rateRun(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	thumbsUp, _ := decode[bool](f, "thumbsUp", "true or false")
	rating := domain.Rating{ThumbsUp: thumbsUp, Comment: f.optionalText("comment", "", domain.CheckComment), RunID: r.fieldID("runId")}
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Rate(r.ctx(), r.caller, rating)
}

type inputJSON struct {
	Question string               `json:"question"`
	Options  []domain.InputOption `json:"options"`
}

func toInput(input *domain.Input) *inputJSON {
	if input == nil {
		return nil
	}
	return &inputJSON{Question: input.Question, Options: append([]domain.InputOption{}, input.Options...)}
}

// input returns what a run asks the user; nil when it does not wait.
func (s *Server) input(r *request, run domain.Run) (*inputJSON, error) {
	if run.Status.Final() {
		return nil, nil
	}
	input, err := s.cfg.Agents.Input(r.ctx(), r.caller, run.ID)
	return toInput(input), err
}

var errNotWaiting = domain.Errorf(domain.ErrConflict, "the run does not wait for an answer")

// answerRun answers what a run asks, with an option or a text, and resumes it.
func (s *Server) answerRun(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	id := r.fieldID("runId")
	option, text := f.optionalText("option", "", domain.CheckQuestion), f.optionalText("text", "", domain.CheckQuestion)
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
	case !slices.ContainsFunc(input.Options, func(o domain.InputOption) bool { return o.ID == option }):
		f.check("option", "must be the id of one of the options")
		return nil, r.err()
	}
	return nil, s.cfg.Agents.Answer(r.ctx(), r.caller, id, option)
}
