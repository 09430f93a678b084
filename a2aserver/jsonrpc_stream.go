package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"parley/internal/sse"
	"parley/storage"
)

var responseEnd = []byte("}")

// stream sends the events of a tail until the tail ends or the client is gone. A slow
// client blocks this goroutine only.
func (t transport) stream(w http.ResponseWriter, r *http.Request, request rpcRequest, events tail) {
	defer events.close()
	ctx := r.Context()
	out := &rpcStream{Writer: sse.NewWriter(w, t.WriteTimeout), id: request.id}
	defer out.Close()
	_, err := recovered(func() (struct{}, error) { return struct{}{}, t.follow(ctx, out, events) })
	switch {
	case errors.Is(err, sse.ErrClientGone), clientGone(ctx):
		t.Logger.DebugContext(ctx, "A2A stream closed: client gone", "error", err)
	case errors.Is(err, errStopping): // the run resumes on another host
	case err == io.EOF: // not a wrapped one, such as a lost connection
	default:
		// If this fails the client is gone.
		_ = out.fail(t.fail(ctx, request, err))
	}
}

// follow sends events until the end, io.EOF, or an error.
func (t transport) follow(ctx context.Context, out *rpcStream, events tail) error {
	if err := out.Start(); err != nil {
		return err
	}
	ticker := time.NewTicker(t.KeepAlive)
	defer ticker.Stop()
	for {
		event, err := t.next(ctx, out, events, ticker.C)
		switch {
		case errors.Is(err, errNoEvent):
			err = out.KeepAlive()
		case err == nil:
			err = out.event(event)
		}
		if err != nil {
			return err
		}
	}
}

// expired is a tick that has already fired.
var expired = func() <-chan time.Time {
	tick := make(chan time.Time)
	close(tick)
	return tick
}()

// next gives the next event. It flushes only before it waits, so that events that are
// ready together are sent together.
func (t transport) next(ctx context.Context, out *rpcStream, events tail, ticks <-chan time.Time) (storage.Event, error) {
	event, err := events.next(ctx, expired)
	if !errors.Is(err, errNoEvent) {
		return event, err
	}
	if err := out.Flush(); err != nil {
		return event, err
	}
	return events.next(ctx, ticks)
}

// rpcStream writes the answer to one JSON-RPC request as server-sent events.
type rpcStream struct {
	*sse.Writer
	id json.RawMessage
	// head is a buffer for the beginning of a response.
	head []byte
}

func (o *rpcStream) event(event storage.Event) error {
	body, err := oneLine(event.Body)
	if err != nil {
		return fmt.Errorf("send event %d: %w", event.Number, err)
	}
	o.head = append(appendHead(o.head[:0], o.id), `,"result":`...)
	return o.Event(event.Number, "", o.head, body, responseEnd)
}

// fail sends an error. It has no number because it is no event of the task.
func (o *rpcStream) fail(failure *rpcError) error {
	if err := o.Event(sse.NoID, "", errorResponse(o.id, failure)); err != nil {
		return err
	}
	return o.Flush()
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
