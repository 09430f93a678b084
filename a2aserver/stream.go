package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"parley/storage"
)

// errClientGone says that a stream's reader went away, or does not read.
var errClientGone = errors.New("the reader is gone")

var (
	eventEnd  = []byte("}\n\n")
	lineEnd   = []byte("\n\n")
	keepAlive = []byte(": keep-alive\n\n")
)

// stream sends what a tail gives, until the tail or the reader ends. It is the
// only one to wait: a reader that does not read holds up nobody else.
func (t transport) stream(w http.ResponseWriter, r *http.Request, request rpcRequest, events tail) {
	defer events.close()
	ctx := r.Context()
	out := &eventWriter{transport: t, w: w, control: http.NewResponseController(w), id: request.id}
	// Whatever is left to be sent when this returns has its time too.
	defer func() { _ = out.control.SetWriteDeadline(t.writeDeadline()) }()
	err := out.begin()
	if err == nil {
		err = t.follow(ctx, out, events)
	}
	switch {
	case errors.Is(err, errClientGone), clientGone(ctx):
		t.Logger.DebugContext(ctx, "A2A stream cut off", "error", err)
	case errors.Is(err, errStopping): // the run goes on elsewhere, for those who come back
	case err == io.EOF: // and not an error made of one, such as a lost connection
	default:
		// Without a reader there is nobody left to tell.
		_ = out.fail(t.fail(ctx, request, err))
	}
}

// follow sends events until there are no more, which is io.EOF, or something
// fails.
func (t transport) follow(ctx context.Context, out *eventWriter, events tail) (err error) {
	defer recoverError(&err)
	var ticks <-chan time.Time
	if t.KeepAlive > 0 {
		ticker := time.NewTicker(t.KeepAlive)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		event, err := t.next(ctx, out, events, ticks)
		switch {
		case errors.Is(err, errNoEvent):
			err = out.write(keepAlive, nil, nil)
		case err == nil:
			err = out.event(event)
		}
		if err != nil {
			return err
		}
	}
}

// expired is a tick that has come.
var expired = func() <-chan time.Time {
	tick := make(chan time.Time)
	close(tick)
	return tick
}()

// next gives the next event. What was written is sent off only where that one has
// to be waited for: events that come together go together.
func (t transport) next(ctx context.Context, out *eventWriter, events tail, ticks <-chan time.Time) (storage.Event, error) {
	event, err := events.next(ctx, expired)
	if !errors.Is(err, errNoEvent) {
		return event, err
	}
	if err := out.flush(); err != nil {
		return event, err
	}
	return events.next(ctx, ticks)
}

// eventWriter writes the answer to one request as server-sent events.
type eventWriter struct {
	transport
	w       http.ResponseWriter
	control *http.ResponseController
	id      json.RawMessage
	// head is the beginning of an event, kept for its memory.
	head []byte
}

// sendCommitted writes the headers, which go with the first event, or before it where
// that takes its time.
func (o *eventWriter) begin() error {
	header := o.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	return o.extendDeadline()
}

func (o *eventWriter) event(event storage.Event) error {
	body, err := oneLine(event.Body)
	if err != nil {
		return fmt.Errorf("send event %d: %w", event.Number, err)
	}
	o.head = append(o.head[:0], "id: "...)
	o.head = strconv.AppendInt(o.head, event.Number, 10)
	o.head = append(o.head, "\ndata: "...)
	o.head = appendHead(o.head, o.id)
	o.head = append(o.head, `,"result":`...)
	return o.write(o.head, body, eventEnd)
}

// fail sends an error. It has no number: it is no event of the task's.
func (o *eventWriter) fail(failure *rpcError) error {
	if err := o.write([]byte("data: "), errorResponse(o.id, failure), lineEnd); err != nil {
		return err
	}
	return o.flush()
}

// writeChunk is how many bytes a reader has the time of one write for: a slow one
// that reads on gets even a large event.
const writeChunk = 64 << 10

// write writes in the time that a reader has.
func (o *eventWriter) write(head, body, end []byte) error {
	if err := o.extendDeadline(); err != nil {
		return err
	}
	for _, part := range [...][]byte{head, body, end} {
		for begun := false; len(part) > 0; begun = true {
			if begun {
				if err := o.extendDeadline(); err != nil {
					return err
				}
			}
			piece := part[:min(len(part), writeChunk)]
			if _, err := o.w.Write(piece); err != nil {
				return fmt.Errorf("%w: %w", errClientGone, err)
			}
			part = part[len(piece):]
		}
	}
	return nil
}

// flush sends off what was written.
func (o *eventWriter) flush() error {
	if err := o.extendDeadline(); err != nil {
		return err
	}
	if err := o.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	// A deadline that passes while there is nothing to write ends an HTTP/2
	// stream, and the server's own has no place here.
	_ = o.control.SetWriteDeadline(time.Time{})
	return nil
}

// extendDeadline gives the reader its time from now on.
func (o *eventWriter) extendDeadline() error {
	if err := o.control.SetWriteDeadline(o.writeDeadline()); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("%w: %w", errClientGone, err)
	}
	return nil
}

// oneLine gives a JSON document without line ends, which would end the event.
func oneLine(body json.RawMessage) ([]byte, error) {
	if bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 {
		return body, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, body); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
