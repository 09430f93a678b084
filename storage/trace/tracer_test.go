package trace_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
func newTracer(t *testing.T, langfuse *tracetest.Langfuse, change ...func(*trace.TracerConfig)) (tracer *trace.Tracer, log *logtest.Buffer) {
	t.Helper()
	log = &logtest.Buffer{}
	endpoint, headers := trace.LangfuseConfig{Host: langfuse.URL, PublicKey: tracetest.PublicKey, SecretKey: tracetest.SecretKey}.TracesEndpoint()
	cfg := trace.TracerConfig{
		Endpoint: endpoint, Headers: headers, Log: slog.New(slog.NewTextHandler(log, nil)),
		Resource: map[string]string{"service.name": "parley", "service.version": "1.2.3"},
	}
	for _, apply := range change {
		apply(&cfg)
	}
	tracer, err := trace.NewTracer(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.Background()) })
	return tracer, log
}

func asking() domain.RunRequest {
	return domain.RunRequest{
		RunID:  uuid.Must(uuid.NewV7()).String(),
		Caller: alice,
		Question: domain.Question{
			Agent: "nl2ql", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"},
			ConversationID: "0198c000-0000-7000-8000-000000000001", Text: "What did Mallory buy?", Provider: "openai",
		},
	}
}

// answered plays a run: a model writes a query that fails, then one that works.
func answered(tracer *trace.Tracer, asked domain.RunRequest) {
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
	t.Parallel()
	langfuse := tracetest.NewLangfuse(t)
	tracer, _ := newTracer(t, langfuse, func(cfg *trace.TracerConfig) { cfg.Content = true })
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
	t.Parallel()
	for name, test := range map[string]struct {
		ratio       float64
		least, most int
	}{
		"always_on":                {0, 200, 200},
		"parentbased_always_off":   {1, 0, 0},
		"traceidratio":             {0.25, 20, 90},
		"parentbased_traceidratio": {0.6, 80, 160},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			langfuse := tracetest.NewLangfuse(t)
			tracer, _ := newTracer(t, langfuse, func(cfg *trace.TracerConfig) { cfg.Sampler, cfg.Ratio = name, test.ratio })
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
	if trace.CheckSampler("sometimes") == "" || trace.CheckSampler("parentbased_always_on") != "" {
		t.Error("samplers are not told apart")
	}
}

// BenchmarkRun is what tracing adds to a run of five spans.
func BenchmarkRun(b *testing.B) {
	tracer, err := trace.NewTracer(b.Context(), trace.TracerConfig{Endpoint: "http://127.0.0.1:1/v1/traces", Log: slog.New(slog.DiscardHandler)})
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
