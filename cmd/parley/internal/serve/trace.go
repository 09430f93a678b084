package serve

import (
	"context"
	"time"

	"parley/llm"
	"parley/storage/trace"
)

// traceFlush is how long sending the last traces may take.
const traceFlush = 5 * time.Second

// openTracer opens what ratings and traces are sent with. It sends no request.
func (s *server) openTracer(ctx context.Context) (err error) {
	feedback, langfuse := trace.FeedbackConfig{Records: s.store, Log: s.log}, s.langfuse()
	if langfuse != nil {
		feedback.Langfuse = trace.NewLangfuse(*langfuse)
	}
	s.feedback = trace.NewFeedback(feedback)
	if !s.local {
		s.tracer, err = trace.NewTracer(ctx, trace.TracerConfig{Langfuse: langfuse, Version: s.version, Log: s.log})
	}
	return err
}

// closeTracer sends the last traces.
func (s *server) closeTracer() {
	ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
	defer cancel()
	if err := s.tracer.Close(ctx); err != nil {
		s.log.Warn("trace flush failed", "error", err)
	}
}

// agentTracer implements agents.Tracer.
type agentTracer struct{ *trace.Tracer }

// Model starts the span of a model's job.
func (t agentTracer) Model(ctx context.Context, job string) (context.Context, func(usage llm.Usage, err error)) {
	ctx, end := t.Tracer.Model(ctx, job)
	return ctx, func(usage llm.Usage, err error) { end(usage.Model, usage.InputTokens, usage.OutputTokens, err) }
}
