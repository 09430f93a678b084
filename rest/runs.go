package rest

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

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

// orNull makes an empty text encode as null.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Server) getRun(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	run, release, err := s.readRun(c, caller, id)
	if err != nil {
		return err
	}
	defer release()
	c.PureJSON(http.StatusOK, toRun(run))
	return nil
}

func (s *Server) deleteRun(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "runId")
	if err != nil {
		return err
	}
	// Checked before the run is stopped: a token that may not delete it must not cancel it.
	if err := s.cfg.Store.MayDeleteRun(c.Request.Context(), caller, id); err != nil {
		return err
	}
	if err := s.cfg.Agents.Stop(c.Request.Context(), caller, id); err != nil {
		return err
	}
	if err := s.cfg.Store.DeleteRun(c.Request.Context(), caller, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
