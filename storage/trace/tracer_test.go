package trace_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/tracetest"
	"parley/internal/domain"
	"parley/storage/trace"
)

// newTracer sends spans to a stand-in; they are there once it is closed.
func newTracer(t *testing.T, langfuse *tracetest.Langfuse) (tracer *trace.Tracer, log *logtest.Buffer) {
	t.Helper()
	log = &logtest.Buffer{}
	tracer, err := trace.NewTracer(t.Context(), trace.TracerConfig{
		Langfuse: &trace.LangfuseConfig{Host: langfuse.URL, PublicKey: tracetest.PublicKey, SecretKey: tracetest.SecretKey},
		Version:  "1.2.3", Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.Background()) })
	return tracer, log
}

func asking() domain.Question {
	return domain.Question{
		RunID:  uuid.Must(uuid.NewV7()).String(),
		Caller: alice,
		Agent:  "nl2ql", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"},
		ConversationID: "0198c000-0000-7000-8000-000000000001", Text: "What did Mallory buy?", Provider: "openai",
	}
}

// answered plays a run: a model writes a query that fails, then one that works.
func answered(tracer *trace.Tracer, asked domain.Question) {
	ctx, endRun := tracer.Run(context.Background(), asked)
	for _, failure := range []error{domain.Errorf(domain.ErrInvalid, "no column mallory"), nil} {
		_, endModel := tracer.Model(ctx, "write_query")
		endModel("gpt-oss:20b", 120, 34, nil)
		_, endTool := tracer.Tool(ctx, "query")
		endTool(failure)
	}
	tracer.Answer(ctx, "Two pears.")
	endRun("completed", nil)
}

// closed closes a tracer, so that all it has was sent.
func closed(t *testing.T, tracer *trace.Tracer) {
	t.Helper()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSpansOfARun(t *testing.T) {
	t.Parallel()
	langfuse := tracetest.NewLangfuse(t)
	tracer, log := newTracer(t, langfuse)
	asked := asking()
	answered(tracer, asked)
	closed(t, tracer)

	spans := langfuse.Spans()
	if len(spans) != 5 {
		t.Fatalf("got %d spans: %+v\n%s", len(spans), spans, log)
	}
	root := spans[4]
	for i, span := range spans {
		if span.TraceID != strings.ReplaceAll(asked.RunID, "-", "") {
			t.Errorf("%s is in trace %s", span.Name, span.TraceID)
		}
		if i < 4 && span.ParentID != root.ID || i == 4 && span.ParentID != "" {
			t.Errorf("%s belongs to %q, not %q", span.Name, span.ParentID, root.ID)
		}
		if span.Resource["service.name"] != "parley" || span.Resource["service.version"] != "1.2.3" {
			t.Errorf("the service is %v", span.Resource)
		}
		spans[i].TraceID, spans[i].ID, spans[i].ParentID, spans[i].Resource = "", "", "", nil
	}
	text, err := json.MarshalIndent(spans, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"Mallory", "mallory", "pears"} {
		if strings.Contains(string(text), content) {
			t.Errorf("the spans tell of %q", content)
		}
	}
	golden.Assert(t, "spans.json", append(text, '\n'))
	if log.String() != "" {
		t.Errorf("log: %s", log)
	}
}

// TestContent has questions and answers in spans, bounded, where asked for.
func TestContent(t *testing.T) {
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
	langfuse := tracetest.NewLangfuse(t)
	tracer, _ := newTracer(t, langfuse)
	asked := asking()
	asked.Text = "Mallory? " + strings.Repeat("𝄞", domain.MaxQuestion)
	answered(tracer, asked)
	closed(t, tracer)
	spans := langfuse.Spans()
	root := spans[len(spans)-1].Attributes
	for key, want := range map[string]string{
		"gen_ai.input.messages": "Mallory?", "langfuse.trace.input": "Mallory?",
		"gen_ai.output.messages": "Two pears.", "langfuse.trace.output": "Two pears.",
	} {
		text, _ := root[key].(string)
		if !strings.Contains(text, want) || len(text) > 17<<10 {
			t.Errorf("%s has %d bytes: %.40s", key, len(text), text)
		}
	}
}

// TestFailuresInSpans tells the kind of a failure and none of its words.
func TestFailuresInSpans(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		err    error
		want   any
	}{
		"completed":       {"completed", nil, nil},
		"failed":          {"failed", nil, "_OTHER"},
		"an error":        {"failed", errors.New("Mallory's secret"), "_OTHER"},
		"canceled":        {"failed", context.Canceled, "canceled"},
		"too long":        {"failed", fmt.Errorf("Mallory: %w", context.DeadlineExceeded), "timeout"},
		"somebody's data": {"failed", domain.Errorf(domain.ErrNotFound, "no Mallory"), "not_found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			langfuse := tracetest.NewLangfuse(t)
			tracer, _ := newTracer(t, langfuse)
			_, end := tracer.Run(t.Context(), asking())
			end(test.status, test.err)
			closed(t, tracer)
			spans := langfuse.Spans()
			if len(spans) != 1 || spans[0].Failed != (test.want != nil) || spans[0].Attributes["error.type"] != test.want || spans[0].StatusMessage != "" {
				t.Errorf("got %+v", spans)
			}
			if strings.Contains(fmt.Sprint(spans), "Mallory") {
				t.Errorf("a failure's words were sent: %+v", spans)
			}
		})
	}
}

// TestNoTracer costs nothing and does nothing.
func TestNoTracer(t *testing.T) {
	t.Parallel()
	var none *trace.Tracer
	answered(none, asking())
	closed(t, none)
}

// TestTracesThatNobodyTakes lets runs go on, says so in the log once, and
// nothing secret.
func TestTracesThatNobodyTakes(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString([]byte(tracetest.PublicKey + ":" + tracetest.SecretKey))
	for _, mode := range []tracetest.Mode{tracetest.Dead, tracetest.Refuses, tracetest.Broken, tracetest.Redirects, tracetest.LiesHTML} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			langfuse := tracetest.NewLangfuse(t)
			langfuse.Behave(mode)
			tracer, log := newTracer(t, langfuse)
			for range 300 { // more than are sent at once
				answered(tracer, asking())
			}
			closed(t, tracer)
			if lines := strings.Count(log.String(), "traces cannot be sent"); lines != 1 {
				t.Errorf("logged %d times:\n%s", lines, log)
			}
			if strings.Contains(log.String(), secret) || strings.Contains(log.String(), tracetest.SecretKey) {
				t.Errorf("the log tells a secret:\n%s", log)
			}
		})
	}
}

// TestTracesHoldNobodyUp makes more spans than are kept, with a collector that
// never answers, and then stops.
func TestTracesHoldNobodyUp(t *testing.T) {
	t.Parallel()
	langfuse := tracetest.NewLangfuse(t)
	langfuse.Behave(tracetest.Slow)
	tracer, _ := newTracer(t, langfuse)
	for range 2000 {
		answered(tracer, asking())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := tracer.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
}

// TestSampler traces about the configured share of runs, each completely.
func TestSampler(t *testing.T) {
	for name, test := range map[string]struct {
		ratio       string
		least, most int
	}{
		"always_on":                {"0", 200, 200},
		"always_off":               {"1", 0, 0},
		"parentbased_always_off":   {"1", 0, 0},
		"traceidratio":             {"0.25", 20, 90},
		"parentbased_traceidratio": {"0.6", 80, 160},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_TRACES_SAMPLER", name)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", test.ratio)
			langfuse := tracetest.NewLangfuse(t)
			tracer, _ := newTracer(t, langfuse)
			for range 200 {
				answered(tracer, asking())
			}
			closed(t, tracer)
			runs := map[string]int{}
			for _, span := range langfuse.Spans() {
				runs[span.TraceID]++
			}
			for id, spans := range runs {
				if spans != 5 {
					t.Errorf("run %s has %d spans", id, spans)
				}
			}
			if len(runs) < test.least || len(runs) > test.most {
				t.Errorf("%d of 200 runs were traced", len(runs))
			}
		})
	}
}

// TestCollector sends spans where the variables of OpenTelemetry say, instead of to Langfuse.
func TestCollector(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(tracetest.PublicKey+":"+tracetest.SecretKey))
	for name, endpoint := range map[string][2]string{
		"a base":            {"OTEL_EXPORTER_OTLP_ENDPOINT", "/api/public/otel"},
		"a base, slash":     {"OTEL_EXPORTER_OTLP_ENDPOINT", "/api/public/otel/"},
		"the whole address": {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/api/public/otel/v1/traces"},
	} {
		t.Run(name, func(t *testing.T) {
			collector, langfuse := tracetest.NewLangfuse(t), tracetest.NewLangfuse(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(endpoint[0], collector.URL+endpoint[1])
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization="+url.PathEscape(basic)+", x-langfuse-ingestion-version=4")
			t.Setenv("OTEL_SERVICE_NAME", "parley-test")
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging%201,service.version=9")
			tracer, log := newTracer(t, langfuse)
			answered(tracer, asking())
			closed(t, tracer)
			spans := collector.Spans()
			if len(spans) != 5 || len(langfuse.Spans()) != 0 {
				t.Fatalf("the collector has %d spans, Langfuse %d\n%s", len(spans), len(langfuse.Spans()), log)
			}
			for key, want := range map[string]string{"service.name": "parley-test", "service.version": "9", "deployment.environment.name": "staging 1", "telemetry.sdk.language": "go"} {
				if got := spans[0].Resource[key]; got != want {
					t.Errorf("%s is %v, not %s", key, got, want)
				}
			}
		})
	}
}

// TestNowhere has no tracer without a collector.
func TestNowhere(t *testing.T) {
	t.Parallel()
	tracer, err := trace.NewTracer(t.Context(), trace.TracerConfig{Log: slog.New(slog.DiscardHandler)})
	if tracer != nil || err != nil {
		t.Errorf("got %v, %v", tracer, err)
	}
}

// TestWrongVariables logs no secret of a variable that cannot be read.
func TestWrongVariables(t *testing.T) {
	langfuse := tracetest.NewLangfuse(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://me:hunter2@%zz")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "hunter2")
	t.Setenv("OTEL_TRACES_SAMPLER", "jaeger_remote")
	_, log := newTracer(t, langfuse)
	for _, want := range []string{"parse url", "parse headers", "unsupported sampler: jaeger_remote"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in:\n%s", want, log)
		}
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("a secret was logged:\n%s", log)
	}
	for variable, text := range map[string]string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "perhaps", "OTEL_RESOURCE_ATTRIBUTES": "half"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, text)
			if _, err := trace.NewTracer(t.Context(), trace.TracerConfig{Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), variable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// BenchmarkRun is what tracing adds to a run of five spans.
func BenchmarkRun(b *testing.B) {
	tracer, err := trace.NewTracer(b.Context(), trace.TracerConfig{Langfuse: &trace.LangfuseConfig{Host: "http://127.0.0.1:1"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tracer.Close(ctx)
	}()
	for name, t := range map[string]*trace.Tracer{"traced": tracer, "not": nil} {
		b.Run(name, func(b *testing.B) {
			asked := asking()
			b.ReportAllocs()
			for b.Loop() {
				answered(t, asked)
			}
		})
	}
}
