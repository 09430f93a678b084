package rest

import (
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
}

func toRun(r storage.Run) runJSON {
	return runJSON{
		RunID:        r.ID,
		AgentKind:    r.Agent,
		Question:     r.Question,
		Status:       r.Status,
		CanResume:    !r.Status.Final(),
		LastNodeID:   orNull(r.LastNodeID),
		ErrorMessage: orNull(r.ErrorMessage),
		Result:       r.Result,
	}
}

func (s *Server) getRun(r *request, id string) (any, error) {
	run, release, err := s.readRun(r, id)
	if err != nil {
		return nil, err
	}
	defer release()
	r.PureJSON(http.StatusOK, toRun(run)) // while its memory is reserved
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
