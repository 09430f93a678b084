// Package sse writes server-sent events. Each write has a deadline, so that a client that
// does not read is disconnected.
package sse

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// MediaType is the content type of an event stream.
const MediaType = "text/event-stream"

// NoID is the id of an event that clients cannot resume from.
const NoID = -1

// ErrClientGone says that the client disconnected or did not read in time.
var ErrClientGone = errors.New("client gone")

// writeChunk is how many bytes are written under one deadline, so that a slow client can
// still receive a large event.
const writeChunk = 64 << 10

var (
	eventEnd  = []byte("\n\n")
	keepAlive = []byte(": keep-alive\n\n")
)

// Writer writes an event stream as the response to a request.
type Writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	// left is how many bytes may be written under the current deadline.
	left int
	// head is a buffer for the beginning of an event.
	head []byte
}

// NewWriter makes a Writer. A client has timeout to read a chunk; 0 is no limit.
func NewWriter(w http.ResponseWriter, timeout time.Duration) *Writer {
	return &Writer{w: w, control: http.NewResponseController(w), timeout: timeout}
}

// Start writes the headers. They are sent with the first flush.
func (w *Writer) Start() error {
	header := w.w.Header()
	header.Set("Content-Type", MediaType)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // proxies must not buffer events
	w.w.WriteHeader(http.StatusOK)
	return w.extendDeadline()
}

// Event writes an event: its id, unless that is [NoID], its name, unless that is "", and
// its data, which is given in parts and has no line breaks.
func (w *Writer) Event(id int64, name string, data ...[]byte) error {
	w.head = w.head[:0]
	if id != NoID {
		w.head = append(w.head, "id: "...)
		w.head = strconv.AppendInt(w.head, id, 10)
		w.head = append(w.head, '\n')
	}
	if name != "" {
		w.head = append(w.head, "event: "...)
		w.head = append(w.head, name...)
		w.head = append(w.head, '\n')
	}
	w.head = append(w.head, "data: "...)
	if len(data) > 0 && len(data[0])+len(w.head) < writeChunk {
		w.head = append(w.head, data[0]...) // fewer writes
		data = data[1:]
	}
	w.left = 0 // each event has its own deadline
	if err := w.write(w.head); err != nil {
		return err
	}
	for _, part := range data {
		if err := w.write(part); err != nil {
			return err
		}
	}
	return w.write(eventEnd)
}

// KeepAlive writes a comment that shows that the stream is alive.
func (w *Writer) KeepAlive() error {
	w.left = 0
	return w.write(keepAlive)
}

// write writes with a deadline for each chunk.
func (w *Writer) write(text []byte) error {
	for len(text) > 0 {
		if w.left < min(len(text), writeChunk) {
			if err := w.extendDeadline(); err != nil {
				return err
			}
		}
		chunk := text[:min(len(text), writeChunk)]
		if _, err := w.w.Write(chunk); err != nil {
			return fmt.Errorf("%w: %w", ErrClientGone, err)
		}
		w.left -= len(chunk)
		text = text[len(chunk):]
	}
	return nil
}

// Flush sends what was written.
func (w *Writer) Flush() error {
	if err := w.extendDeadline(); err != nil {
		return err
	}
	if err := w.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", ErrClientGone, err)
	}
	// A deadline that passes without a pending write would end an HTTP/2 stream.
	_ = w.control.SetWriteDeadline(time.Time{})
	w.left = 0
	return nil
}

// Close sets the deadline for the rest of the response, which the server writes.
func (w *Writer) Close() { _ = w.extendDeadline() }

func (w *Writer) extendDeadline() error {
	w.left = writeChunk
	var deadline time.Time
	if w.timeout > 0 {
		deadline = time.Now().Add(w.timeout)
	}
	if err := w.control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", ErrClientGone, err)
	}
	return nil
}
