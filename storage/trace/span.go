package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

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

// runIDs returns a trace the id of its run.
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

// CheckSampler returns what is wrong with the name of a sampler, "" for a valid one.
func CheckSampler(name string) string {
	if _, err := newSampler(name, 1); err != nil {
		return "must be always_on, always_off or traceidratio, alone or behind parentbased_"
	}
	return ""
}

// newSampler returns the sampler of a name. A run has no parent trace, so parentbased_
// makes no difference.
func newSampler(name string, ratio float64) (sdktrace.Sampler, error) {
	switch strings.TrimPrefix(name, "parentbased_") {
	case "", "always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		return sdktrace.ParentBased(evenly{sdktrace.TraceIDRatioBased(ratio)}), nil
	}
	return nil, fmt.Errorf("no sampler %q", name)
}

// evenly samples by a hash of the trace's id, since some bits of all UUIDs are the same.
type evenly struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (e evenly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	sum := sha256.Sum256(p.TraceID[:])
	p.TraceID = trace.TraceID(sum[:16])
	return e.Sampler.ShouldSample(p)
}
