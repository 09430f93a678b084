package rest

import (
	"slices"

	"parley/storage"
)

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
