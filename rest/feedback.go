package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// Feedback stores ratings of completed runs: storage.ErrRunNotCompleted for others,
// storage.ErrTracing when the tracing service refuses it.
type Feedback interface {
	Rate(ctx context.Context, caller storage.Caller, rating storage.Rating) error
}

func (s *Server) rateRun(c *gin.Context, caller storage.Caller) error {
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	rating := storage.Rating{ThumbsUp: f.requiredBool("thumbsUp"), Comment: f.text("comment")}
	if problem := storage.CheckComment(rating.Comment); problem != "" {
		f.refuse("comment", problem)
	}
	if rating.RunID, err = pathID(c, "runId"); err != nil {
		f.refuse("runId", "must be a UUID")
	}
	if err := f.err(); err != nil {
		return err
	}
	if err := s.cfg.Feedback.Rate(c.Request.Context(), caller, rating); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// requiredBool reads a required boolean.
func (f fields) requiredBool(name string) bool {
	var is bool
	switch {
	case !f.has(name):
		f.refuse(name, "is required")
	case json.Unmarshal(f.members[name], &is) != nil:
		f.refuse(name, "must be true or false")
	}
	return is
}
