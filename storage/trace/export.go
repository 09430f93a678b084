package trace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// reportEvery is how often it is said that traces are lost.
const reportEvery = time.Minute

// reporter logs, once in a while, that spans could not be sent. Nobody else is
// told: what was lost is lost.
type reporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	said time.Time
	lost int
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
	if now := r.now(); now.Sub(r.said) >= reportEvery {
		r.log.Warn("traces cannot be sent", "spans", r.lost, "error", err)
		r.said, r.lost = now, 0
	}
	return nil
}

var errNoCollector = errors.New("what answered is not a collector of traces")

// mute keeps what a collector says from getting anywhere: it may repeat what it
// was sent.
type mute struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (m mute) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := m.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// Read, though, so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	_ = response.Body.Close()
	response.Body, response.ContentLength = http.NoBody, 0
	if isSuccess(response.StatusCode) && strings.HasPrefix(response.Header.Get("Content-Type"), "text/") {
		return nil, errNoCollector
	}
	return response, nil
}
