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

	"parley/a2aserver/jsonrpc"
	"parley/internal/domain"
	"parley/internal/sse"
)

// envelope is how a binding writes the events of a stream.
type envelope struct {
	// head and end enclose each event.
	head, end []byte
	// convert returns an event in another version of the protocol; nil for the stored one.
	convert func(event domain.Event) ([]byte, error)
	// refusal writes an error that ends the stream; refused is the name of its event.
	refusal func(failure *jsonrpc.Error, err error) []byte
	refused string
}

// rpcEnvelope makes each event a response to a JSON-RPC request.
func rpcEnvelope(id json.RawMessage) envelope {
	return envelope{
		head:    jsonrpc.ResultHead(id),
		end:     []byte("}"),
		refusal: func(failure *jsonrpc.Error, _ error) []byte { return jsonrpc.ErrorResponse(id, failure) },
	}
}

// stream sends the events of a subscription until the subscription ends or the client is gone. A slow
// client blocks this goroutine only.
func (t transport) stream(w http.ResponseWriter, r *http.Request, request jsonrpc.Request, events subscription, wrap envelope) {
	defer events.close()
	ctx := r.Context()
	out := &eventStream{Writer: sse.NewWriter(w, t.WriteTimeout), envelope: wrap}
	defer out.Close()
	_, err := recovered(func() (struct{}, error) { return struct{}{}, t.follow(ctx, out, events) })
	switch {
	case errors.Is(err, sse.ErrClientGone), clientGone(ctx):
		t.Logger.DebugContext(ctx, "A2A stream closed: client gone", "error", err)
	case errors.Is(err, errStopping): // the run resumes on another host
	case err == io.EOF: // not a wrapped one, such as a lost connection
	default:
		// If this fails the client is gone.
		_ = out.fail(t.fail(ctx, request, err), err)
	}
}

// refuseStream answers with a stream of one error.
func (t transport) refuseStream(ctx context.Context, w http.ResponseWriter, request jsonrpc.Request, err error, wrap envelope) {
	out := &eventStream{Writer: sse.NewWriter(w, t.WriteTimeout), envelope: wrap}
	defer out.Close()
	if out.Start() == nil {
		_ = out.fail(t.fail(ctx, request, err), err) // if this fails the client is gone
	}
}

// follow sends events until the end, io.EOF, or an error.
func (t transport) follow(ctx context.Context, out *eventStream, events subscription) error {
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

// next returns the next event. It flushes only before it waits, so that events that are
// ready together are sent together.
func (t transport) next(ctx context.Context, out *eventStream, events subscription, ticks <-chan time.Time) (domain.Event, error) {
	event, err := events.next(ctx, expired)
	if !errors.Is(err, errNoEvent) {
		return event, err
	}
	if err := out.Flush(); err != nil {
		return event, err
	}
	return events.next(ctx, ticks)
}

// eventStream writes the events of a task as server-sent events.
type eventStream struct {
	*sse.Writer
	envelope
}

func (o *eventStream) event(event domain.Event) error {
	convert := o.convert
	if convert == nil {
		convert = oneLine
	}
	body, err := convert(event)
	if err != nil {
		return fmt.Errorf("send event %d: %w", event.Number, err)
	}
	if len(o.head) == 0 {
		return o.Event(event.Number, "", body)
	}
	return o.Event(event.Number, "", o.head, body, o.end)
}

// fail sends an error. It has no number because it is no event of the task.
func (o *eventStream) fail(failure *jsonrpc.Error, err error) error {
	if err := o.Event(sse.NoID, o.refused, o.refusal(failure, err)); err != nil {
		return err
	}
	return o.Flush()
}

// oneLine returns an event without line ends, which would end it.
func oneLine(event domain.Event) ([]byte, error) {
	body := event.Body
	if bytes.IndexByte(body, '\n') < 0 && bytes.IndexByte(body, '\r') < 0 {
		return body, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, body); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
