// Package trace sends runs to a tracing store, as spans over OTLP, and their ratings, as
// scores to Langfuse. Without such a store, ratings are in the records alone.
//
// The id of a run's trace is the run's id, so that scores need no lookup. Questions,
// answers and data are not in traces unless a variable asks for content.
//
// The SDK of OpenTelemetry reads its OTEL_ variables itself. Here are those that it does
// not know, or that do not work with ids of runs.
package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"parley/internal/domain"
)

const (
	// maxQueue bounds the spans that wait to be sent; more are dropped.
	maxQueue = 2048
	// sendTimeout bounds sending a batch, with its retries.
	sendTimeout = 30 * time.Second
)

// TracerConfig is the configuration of a Tracer.
type TracerConfig struct {
	// Langfuse gets the spans unless a variable names another collector; nil for none.
	Langfuse *LangfuseConfig
	// Version is that of the program.
	Version string
	Log     *slog.Logger
}

// Tracer makes spans by OpenTelemetry's conventions for generative AI and sends them in
// the background. A nil Tracer does nothing.
type Tracer struct {
	// content adds questions and answers to the spans.
	content  bool
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// NewTracer returns a Tracer, nil if neither Langfuse nor a collector is set. It logs later
// whether spans cannot be sent.
func NewTracer(ctx context.Context, cfg TracerConfig) (*Tracer, error) {
	options := []otlptracehttp.Option{
		otlptracehttp.WithHTTPClient(&http.Client{Transport: mute{http.DefaultTransport}, CheckRedirect: noRedirect, Timeout: 10 * time.Second}),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: 10 * time.Second, MaxElapsedTime: sendTimeout,
		}),
	}
	if cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
		if cfg.Langfuse == nil {
			return nil, nil
		}
		endpoint, headers := cfg.Langfuse.tracesEndpoint()
		options = append(options, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithHeaders(headers))
	}
	logSDK(cfg.Log)
	content, err := captureContent(os.Getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"))
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("export traces: %w", err)
	}
	service, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "parley"), attribute.String("service.version", cfg.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe the service by OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	t := &Tracer{content: content}
	t.provider = sdktrace.NewTracerProvider(append(ratioSampler(),
		sdktrace.WithResource(service),
		sdktrace.WithIDGenerator(runIDs{}),
		sdktrace.WithBatcher(&reporter{SpanExporter: exporter, log: cfg.Log},
			sdktrace.WithMaxQueueSize(maxQueue), sdktrace.WithExportTimeout(sendTimeout)),
	)...)
	t.tracer = t.provider.Tracer("parley")
	return t, nil
}

// Close sends the waiting spans, until ctx ends.
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

// Run starts the root span of a run, in a trace of its own. The function that it returns
// ends the span with the run's status.
func (t *Tracer) Run(ctx context.Context, request domain.Question) (context.Context, func(status string, err error)) {
	if t == nil {
		return ctx, func(string, error) {}
	}
	id, _ := uuid.Parse(request.RunID) // ids of runs are UUIDs
	run := traced{id: trace.TraceID(id), provider: request.Provider, common: []attribute.KeyValue{
		attribute.String("gen_ai.agent.name", request.Agent),
		attribute.String("gen_ai.conversation.id", request.ConversationID),
		attribute.String("user.id", request.Caller.Username),
		attribute.String("session.id", request.ConversationID),
		attribute.String("langfuse.user.id", request.Caller.Username),
		attribute.String("langfuse.session.id", request.ConversationID),
		attribute.String("langfuse.trace.name", request.Agent),
	}}
	ctx = context.WithValue(ctx, tracedKey{}, run)
	ctx, span := t.start(ctx, "invoke_agent "+request.Agent, trace.SpanKindInternal, "invoke_agent", "agent", trace.WithNewRoot())
	run.root = span
	ctx = context.WithValue(ctx, tracedKey{}, run)
	if t.content {
		span.SetAttributes(attribute.String("gen_ai.input.messages", message("user", request.Text)),
			attribute.String("langfuse.trace.input", truncate(request.Text)))
	}
	return ctx, func(status string, err error) {
		span.SetAttributes(attribute.String("parley.run.status", status))
		if err == nil && status == string(domain.RunFailed) {
			err = errFailed
		}
		end(span, err)
	}
}

// Answer adds the answer of the context's run to its span, where spans have content.
func (t *Tracer) Answer(ctx context.Context, text string) {
	run := tracedFrom(ctx)
	if t == nil || !t.content || run.root == nil {
		return
	}
	run.root.SetAttributes(attribute.String("gen_ai.output.messages", message("assistant", text)),
		attribute.String("langfuse.trace.output", truncate(text)))
}

// Model starts the span of a language model's job. The function that it returns ends the
// span with the model's name, "" for none, and the numbers of tokens.
func (t *Tracer) Model(ctx context.Context, job string) (context.Context, func(model string, input, output int, err error)) {
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

// Tool starts the span of a tool call. The function that it returns ends the span.
func (t *Tracer) Tool(ctx context.Context, name string) (context.Context, func(err error)) {
	ctx, span := t.start(ctx, "execute_tool "+name, trace.SpanKindInternal, "execute_tool", "tool")
	span.SetAttributes(attribute.String("gen_ai.tool.name", name), attribute.String("gen_ai.tool.type", "function"))
	return ctx, func(err error) { end(span, err) }
}

// start starts a span. observation is its type in Langfuse.
func (t *Tracer) start(ctx context.Context, name string, kind trace.SpanKind, operation, observation string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t == nil {
		return ctx, noop.Span{}
	}
	options = append(options, trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("gen_ai.operation.name", operation),
		attribute.String("langfuse.observation.type", observation),
	), trace.WithAttributes(tracedFrom(ctx).common...))
	return t.tracer.Start(ctx, name, options...)
}

// reportEvery is the least time between two log lines on lost traces.
const reportEvery = time.Minute

// reporter logs, at most once in reportEvery, that spans could not be sent.
type reporter struct {
	sdktrace.SpanExporter
	log *slog.Logger

	mu       sync.Mutex
	reported time.Time
	lost     int
}

// ExportSpans implements sdktrace.SpanExporter.
func (r *reporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += len(spans)
	if time.Since(r.reported) >= reportEvery {
		r.log.Warn("traces cannot be sent", "spans", r.lost, "error", err)
		r.reported, r.lost = time.Now(), 0
	}
	return nil
}

var errNoCollector = errors.New("the response is not from a collector of traces")

// mute drops the bodies of a collector's answers: they may repeat what it was sent.
type mute struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m mute) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// Reading the body lets the connection be used again.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	_ = response.Body.Close()
	response.Body, response.ContentLength = http.NoBody, 0
	if isSuccess(response.StatusCode) && strings.HasPrefix(response.Header.Get("Content-Type"), "text/") {
		return nil, errNoCollector
	}
	return response, nil
}
