package serve

import (
	"context"
	"log/slog"
	"time"

	"parley/llm"
	"parley/storage/trace"
)

// traceFlush is how long sending the last traces may take.
const traceFlush = 5 * time.Second

// tracing sends ratings and traces.
type tracing struct {
	feedback *trace.Feedback
	tracer   *trace.Tracer
	log      *slog.Logger
}

// openTracing opens what is configured. It sends no request.
func openTracing(ctx context.Context, cfg *Command, b base) (*tracing, error) {
	feedback, langfuse := trace.FeedbackConfig{Records: b.store, Log: b.log}, cfg.langfuse()
	if langfuse != nil {
		feedback.Langfuse = trace.NewLangfuse(*langfuse)
	}
	t := &tracing{feedback: trace.NewFeedback(feedback), log: b.log}
	if cfg.local {
		return t, nil
	}
	var err error
	t.tracer, err = trace.NewTracer(ctx, trace.TracerConfig{Langfuse: langfuse, Version: b.version, Log: b.log})
	return t, err
}

// close sends the last traces.
func (t *tracing) close() {
	ctx, cancel := context.WithTimeout(context.Background(), traceFlush)
	defer cancel()
	if err := t.tracer.Close(ctx); err != nil {
		t.log.Warn("trace flush failed", "error", err)
	}
}

// agentTracer implements agents.Tracer.
type agentTracer struct{ *trace.Tracer }

// Model starts the span of a model's job.
func (t agentTracer) Model(ctx context.Context, job string) (context.Context, func(usage llm.Usage, err error)) {
	ctx, end := t.Tracer.Model(ctx, job)
	return ctx, func(usage llm.Usage, err error) { end(usage.Model, usage.InputTokens, usage.OutputTokens, err) }
}
