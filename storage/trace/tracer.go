package trace

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"parley/storage"
)

const (
	// maxQueue is how many spans wait to be sent; what comes then is dropped.
	maxQueue = 2048
	// sendTimeout is how long sending some of them may take, with its retries.
	sendTimeout = 30 * time.Second
)

// TracerConfig says where spans go and what they hold.
type TracerConfig struct {
	// Endpoint is the whole address to which OTLP goes, Headers what goes with
	// it.
	Endpoint string
	Headers  map[string]string
	// Resource describes this service: service.name and the like.
	Resource map[string]string
	// Sampler is which runs are traced, by OTEL_TRACES_SAMPLER's names; "" for
	// all. Ratio is the share of them, where the sampler has one.
	Sampler string
	Ratio   float64
	// Content has questions and answers in the spans.
	Content bool
	Log     *slog.Logger
}

// Tracer makes spans by the conventions for generative AI and sends them, in the
// background: no run waits for it. A nil Tracer does nothing.
type Tracer struct {
	cfg      TracerConfig
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// NewTracer makes a Tracer. Whether anybody takes the spans shows later, in the
// log.
func NewTracer(ctx context.Context, cfg TracerConfig) (*Tracer, error) {
	sampler, err := newSampler(cfg.Sampler, cfg.Ratio)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(cfg.Endpoint),
		otlptracehttp.WithHeaders(cfg.Headers),
		otlptracehttp.WithHTTPClient(&http.Client{Transport: mute{http.DefaultTransport}, CheckRedirect: noRedirect, Timeout: 10 * time.Second}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: sendTimeout,
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	var described []attribute.KeyValue
	for key, value := range cfg.Resource {
		described = append(described, attribute.String(key, value))
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(described...))
	if err != nil {
		return nil, fmt.Errorf("describe the service: %w", err)
	}
	t := &Tracer{cfg: cfg}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithSampler(sampler),
		sdktrace.WithIDGenerator(runIDs{}),
		sdktrace.WithBatcher(&reporter{SpanExporter: exporter, log: cfg.Log, now: time.Now},
			sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithExportTimeout(sendTimeout)),
	)
	t.tracer = t.provider.Tracer("parley")
	return t, nil
}

// Close sends what waits, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// traced is what the spans of one run share.
type traced struct {
	id     trace.TraceID
	root   trace.Span
	common []attribute.KeyValue
	// provider is that of the model which the question names.
	provider string
}

type tracedKey struct{}

func tracedFrom(ctx context.Context) traced {
	run, _ := ctx.Value(tracedKey{}).(traced)
	return run
}

// Run starts the span of a run, which all others of it belong to, in a trace of
// the run's own. What it returns ends it, with the run's status.
func (t *Tracer) Run(ctx context.Context, asking storage.RunRequest) (context.Context, func(status string, err error)) {
	if t == nil {
		return ctx, func(string, error) {}
	}
	id, err := uuid.Parse(asking.RunID)
	if err != nil {
		id = uuid.New() // cannot be: ids of runs are UUIDs
	}
	run := traced{id: trace.TraceID(id), provider: asking.Provider, common: []attribute.KeyValue{
		attribute.String("gen_ai.agent.name", asking.Agent),
		attribute.String("gen_ai.conversation.id", asking.ConversationID),
		attribute.String("user.id", asking.Caller.Username),
		attribute.String("session.id", asking.ConversationID),
		attribute.String("langfuse.user.id", asking.Caller.Username),
		attribute.String("langfuse.session.id", asking.ConversationID),
		attribute.String("langfuse.trace.name", asking.Agent),
	}}
	ctx = context.WithValue(ctx, tracedKey{}, run)
	ctx, span := t.start(ctx, "invoke_agent "+asking.Agent, trace.SpanKindInternal, "invoke_agent", "agent", trace.WithNewRoot())
	run.root = span
	ctx = context.WithValue(ctx, tracedKey{}, run)
	if t.cfg.Content {
		span.SetAttributes(attribute.String("gen_ai.input.messages", message("user", asking.Text)),
			attribute.String("langfuse.trace.input", cut(asking.Text)))
	}
	return ctx, func(status string, err error) {
		span.SetAttributes(attribute.String("parley.run.status", status))
		if err == nil && status == string(storage.RunFailed) {
			err = errFailed
		}
		end(span, err)
	}
}

// Answer notes what the run in the context has answered, where spans hold that.
func (t *Tracer) Answer(ctx context.Context, text string) {
	run := tracedFrom(ctx)
	if t == nil || !t.cfg.Content || run.root == nil {
		return
	}
	run.root.SetAttributes(attribute.String("gen_ai.output.messages", message("assistant", text)),
		attribute.String("langfuse.trace.output", cut(text)))
}

// Model starts the span of a job that a language model does. What it returns
// ends it, with the model's name, "" where there was none, and the tokens that
// it was given and gave.
func (t *Tracer) Model(ctx context.Context, job string) (context.Context, func(model string, input, output int, err error)) {
	if t == nil {
		return ctx, func(string, int, int, error) {}
	}
	ctx, span := t.start(ctx, "chat", trace.SpanKindClient, "chat", "generation")
	span.SetAttributes(attribute.String("parley.job", job))
	if provider := tracedFrom(ctx).provider; provider != "" {
		span.SetAttributes(attribute.String("gen_ai.provider.name", provider))
	}
	return ctx, func(model string, input, output int, err error) {
		if model != "" {
			span.SetName("chat " + model)
			span.SetAttributes(attribute.String("gen_ai.request.model", model))
		}
		span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", input), attribute.Int("gen_ai.usage.output_tokens", output))
		end(span, err)
	}
}

// Tool starts the span of a tool that an agent uses. What it returns ends it.
func (t *Tracer) Tool(ctx context.Context, name string) (context.Context, func(err error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.start(ctx, "execute_tool "+name, trace.SpanKindInternal, "execute_tool", "tool")
	span.SetAttributes(attribute.String("gen_ai.tool.name", name), attribute.String("gen_ai.tool.type", "function"))
	return ctx, func(err error) { end(span, err) }
}

// start starts a span. observation is what Langfuse calls it.
func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind, operation, observation string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	options = append(options, trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", operation),
		attribute.String("langfuse.observation.type", observation),
	), trace.WithAttributes(tracedFrom(ctx).common...))
	return t.tracer.Start(ctx, name, options...)
}
