package serve

import (
	"context"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/llm"
	"parley/storage/trace"
)

// traceFlush is how long sending the last traces may take.
const traceFlush = 5 * time.Second

// traceSettings say where ratings and traces are sent, by the variables of Langfuse and
// OpenTelemetry.
type traceSettings struct {
	LangfuseHost      string `env:"LANGFUSE_HOST,LANGFUSE_BASE_URL" placeholder:"URL" help:"A Langfuse server for ratings and traces of runs, such as https://cloud.langfuse.com."`
	LangfusePublicKey string `env:"LANGFUSE_PUBLIC_KEY" placeholder:"TEXT" help:"Langfuse's public key."`
	LangfuseSecretKey string `env:"LANGFUSE_SECRET_KEY" placeholder:"TEXT" help:"Langfuse's secret key. Prefer the variable."`

	OTLPEndpoint       string `name:"otel-exporter-otlp-endpoint" env:"OTEL_EXPORTER_OTLP_ENDPOINT" placeholder:"URL" help:"A collector for traces (OTLP over HTTP), instead of Langfuse. Parley adds /v1/traces."`
	OTLPTracesEndpoint string `name:"otel-exporter-otlp-traces-endpoint" env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" placeholder:"URL" help:"The same, as the full URL."`
	OTLPHeaders        string `name:"otel-exporter-otlp-headers" env:"OTEL_EXPORTER_OTLP_HEADERS" placeholder:"LIST" help:"Headers for the collector: name=value, separated by commas. Prefer the variable."`
	OTelServiceName    string `name:"otel-service-name" env:"OTEL_SERVICE_NAME" default:"parley" placeholder:"TEXT" help:"The name of this service in traces (${default})."`
	OTelResource       string `name:"otel-resource-attributes" env:"OTEL_RESOURCE_ATTRIBUTES" placeholder:"LIST" help:"More attributes of this service: name=value, separated by commas."`
	OTelSampler        string `name:"otel-traces-sampler" env:"OTEL_TRACES_SAMPLER" default:"always_on" placeholder:"NAME" help:"Which runs are traced: always_on, always_off, traceidratio (${default})."`
	OTelSamplerArg     string `name:"otel-traces-sampler-arg" env:"OTEL_TRACES_SAMPLER_ARG" default:"1" placeholder:"RATIO" help:"The share of runs that traceidratio traces, from 0 to 1 (${default})."`
	CaptureContent     string `name:"otel-instrumentation-genai-capture-message-content" env:"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" placeholder:"BOOL" help:"Include questions and answers in traces."`
}

// traceConfig is traceSettings, parsed. What is not set is nil.
type traceConfig struct {
	langfuse *trace.LangfuseConfig
	tracer   *trace.TracerConfig
}

func (s traceSettings) read(c *command.Checker, version string) traceConfig {
	cfg := traceConfig{langfuse: s.readLangfuse(c)}
	tracer := trace.TracerConfig{
		Headers:  readPairs(c, "otel-exporter-otlp-headers", s.OTLPHeaders),
		Resource: readPairs(c, "otel-resource-attributes", s.OTelResource),
		Sampler:  s.OTelSampler,
		Content:  readCapture(c, "otel-instrumentation-genai-capture-message-content", s.CaptureContent),
	}
	tracer.Resource["service.name"] = s.OTelServiceName
	if tracer.Resource["service.version"] == "" {
		tracer.Resource["service.version"] = version
	}
	if problem := trace.CheckSampler(s.OTelSampler); problem != "" {
		c.Refuse("otel-traces-sampler", "%s, not %q", problem, s.OTelSampler)
	}
	var err error
	if tracer.Ratio, err = strconv.ParseFloat(s.OTelSamplerArg, 64); err != nil || !(tracer.Ratio >= 0 && tracer.Ratio <= 1) {
		c.Refuse("otel-traces-sampler-arg", "must be a number from 0 to 1, not %q", s.OTelSamplerArg)
	}
	c.PublicURL("otel-exporter-otlp-endpoint", s.OTLPEndpoint)
	c.PublicURL("otel-exporter-otlp-traces-endpoint", s.OTLPTracesEndpoint)
	switch {
	case s.OTLPTracesEndpoint != "":
		tracer.Endpoint = s.OTLPTracesEndpoint
	case s.OTLPEndpoint != "":
		tracer.Endpoint = strings.TrimRight(s.OTLPEndpoint, "/") + "/v1/traces"
	case cfg.langfuse != nil:
		tracer.Endpoint, tracer.Headers = cfg.langfuse.TracesEndpoint()
	default:
		return cfg
	}
	cfg.tracer = &tracer
	return cfg
}

func (s traceSettings) readLangfuse(c *command.Checker) *trace.LangfuseConfig {
	if s.LangfuseHost == "" && s.LangfusePublicKey == "" && s.LangfuseSecretKey == "" {
		return nil
	}
	for _, needed := range []struct{ flag, text string }{
		{"langfuse-host", s.LangfuseHost}, {"langfuse-public-key", s.LangfusePublicKey}, {"langfuse-secret-key", s.LangfuseSecretKey},
	} {
		if needed.text == "" {
			c.Refuse(needed.flag, "is missing: Langfuse needs its address and both keys")
		}
	}
	c.PublicURL("langfuse-host", s.LangfuseHost)
	return &trace.LangfuseConfig{Host: s.LangfuseHost, PublicKey: s.LangfusePublicKey, SecretKey: s.LangfuseSecretKey}
}

// readPairs parses name=value pairs, separated by commas, as OpenTelemetry defines them.
func readPairs(c *command.Checker, flag, text string) map[string]string {
	values := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil {
			c.Refuse(flag, "must be name=value, separated by commas") // and may be secret
			return values
		}
		values[name] = value
	}
	return values
}

// readCapture parses whether spans have content: a boolean, or a value of the newer
// conventions.
func readCapture(c *command.Checker, flag, text string) bool {
	switch strings.ToUpper(text) {
	case "", "NO_CONTENT", "EVENT_ONLY":
		return false
	case "SPAN_ONLY", "SPAN_AND_EVENT":
		return true
	}
	return c.Bool(flag, command.Toggle(text))
}

// tracing sends ratings and traces.
type tracing struct {
	feedback *trace.Feedback
	tracer   *trace.Tracer
	log      *slog.Logger
}

// openTracing opens what is configured. It sends no request.
func openTracing(ctx context.Context, cfg traceConfig, b base) (*tracing, error) {
	feedback := trace.FeedbackConfig{Records: b.store, Log: b.log}
	if cfg.langfuse != nil {
		feedback.Langfuse = trace.NewLangfuse(*cfg.langfuse)
	}
	var tracer *trace.Tracer
	if cfg.tracer != nil {
		config := *cfg.tracer
		config.Log = b.log
		var err error
		if tracer, err = trace.NewTracer(ctx, config); err != nil {
			return nil, err
		}
	}
	return &tracing{feedback: trace.NewFeedback(feedback), tracer: tracer, log: b.log}, nil
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
