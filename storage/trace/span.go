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

	"parley/storage"
)

// maxContent is the most bytes of a text in a span.
const maxContent = 16 << 10

// errFailed stands for what a run failed of, where that is not known.
var errFailed = errors.New("failed")

// end ends a span. Of an error only the kind is kept: its words may hold what
// people asked, or their data.
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
		{storage.ErrNotFound, "not_found"},
		{storage.ErrInvalid, "invalid"},
		{storage.ErrForbidden, "forbidden"},
		{storage.ErrConflict, "conflict"},
		{storage.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	return "_OTHER"
}

// message gives a text in the form that the conventions have for messages.
func message(role, text string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type said struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	encoded, err := json.Marshal([]said{{role, []part{{"text", cut(text)}}}})
	if err != nil {
		return "" // cannot be: these are texts
	}
	return string(encoded)
}

// cut keeps a text in bounds.
func cut(text string) string { return storage.Truncate(text, maxContent) }

// runIDs gives a trace the id of the run in whose context it begins.
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

// CheckSampler returns what is wrong with the name of a sampler, "" when it is
// right.
func CheckSampler(name string) string {
	if _, err := newSampler(name, 1); err != nil {
		return "must be always_on, always_off or traceidratio, alone or behind parentbased_"
	}
	return ""
}

// newSampler gives the sampler of a name. A run begins a trace, so that those
// that go by a parent are the same as those that do not.
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

// evenly is a sampler that goes by a hash of the trace's id: that of a UUID has
// bits that are the same in all.
type evenly struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (e evenly) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	sum := sha256.Sum256(p.TraceID[:])
	p.TraceID = trace.TraceID(sum[:16])
	return e.Sampler.ShouldSample(p)
}
