package rest

import (
	"context"

	"parley/storage"
)

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
