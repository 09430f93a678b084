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

var errNoCollector = errors.New("what answered is not a collector of traces")

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
