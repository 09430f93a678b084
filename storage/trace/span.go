package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr/funcr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"parley/internal/domain"
)

// maxContent is the most bytes of a text in a span.
const maxContent = 16 << 10

// errFailed stands for the unknown error of a failed run.
var errFailed = errors.New("failed")

// end ends a span. It records the kind of an error only: the text may hold questions or
// data.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
		span.SetAttributes(attribute.String("error.type", kindOf(err)))
	}
	span.End()
}

func kindOf(err error) string {
	for _, kind := range []struct {
		err  error
		name string
	}{
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{domain.ErrNotFound, "not_found"},
		{domain.ErrInvalid, "invalid"},
		{domain.ErrForbidden, "forbidden"},
		{domain.ErrConflict, "conflict"},
		{domain.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return "_OTHER"
}

// message encodes a text as the semantic conventions define messages.
func message(role, text string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type chatMessage struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	encoded, _ := json.Marshal([]chatMessage{{role, []part{{"text", truncate(text)}}}}) // strings always encode
	return string(encoded)
}

func truncate(text string) string { return domain.Truncate(text, maxContent) }

// runIDs makes the id of a run that of its trace.
type runIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g runIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := tracedFrom(ctx).id
	if !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1)
	}
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements sdktrace.IDGenerator.
func (runIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}

// ratioSampler returns the sampler of a share of the runs, in place of the SDK's; none for
// another sampler. A run has no parent trace, so parentbased_ makes no difference.
func ratioSampler() []sdktrace.TracerProviderOption {
	if !strings.HasSuffix(strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER"))), "traceidratio") {
		return nil
	}
	ratio, err := strconv.ParseFloat(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG")), 64)
	if err != nil {
		ratio = 1 // as the SDK does
	}
	return []sdktrace.TracerProviderOption{sdktrace.WithSampler(sdktrace.ParentBased(evenly{sdktrace.TraceIDRatioBased(ratio)}))}
}

// evenly samples by a hash of the trace's id, since some bits of all UUIDs are the same.
type evenly struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (e evenly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	sum := sha256.Sum256(p.TraceID[:])
	p.TraceID = trace.TraceID(sum[:16])
	return e.Sampler.ShouldSample(p)
}

// captureContent reads whether spans have content: a boolean, or a value of the newer
// conventions.
func captureContent(text string) (bool, error) {
	switch strings.ToUpper(text) {
	case "", "NO_CONTENT", "EVENT_ONLY":
		return false, nil
	case "SPAN_ONLY", "SPAN_AND_EVENT":
		return true, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT must be true or false, not %q", text)
	}
	return on, nil
}

// logSDK makes the SDK log here, without the values of addresses and headers: they may be secret.
func logSDK(log *slog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("OpenTelemetry reports a problem", "error", err) }))
	otel.SetLogger(funcr.New(func(_, text string) { log.Warn("OpenTelemetry cannot read a variable", "problem", text) }, funcr.Options{
		RenderBuiltinsHook: func(pairs []any) []any {
			if at := slices.Index(pairs, "error"); at >= 0 {
				pairs = slices.Delete(pairs, at, at+2)
			}
			return pairs
		},
		RenderArgsHook: func([]any) []any { return nil },
	}))
}
