package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxEvent limits an event of a stream, in bytes.
const maxEvent = 1 << 20

// collect sends a request for a stream and gives the complete answer. It stops when nothing
// arrives for x.want.idle.
func (t *transport) collect(req *http.Request, x *exchange) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	watch := time.AfterFunc(x.want.idle, func() { cancel(errIdle) })
	defer watch.Stop()

	resp, err := t.send(req.WithContext(ctx))
	if err == nil {
		err = t.readStream(resp, x, func() { watch.Reset(x.want.idle) })
	}
	switch {
	case err == nil:
		return resp, nil
	case errors.Is(context.Cause(ctx), errIdle):
		return nil, errIdle
	}
	return nil, err
}

// readStream replaces the body by the complete answer. A body that is not a stream is
// copied.
func (t *transport) readStream(resp *http.Response, x *exchange, onRead func()) error {
	defer resp.Body.Close()
	body := bufio.NewReader(&limited{ReadCloser: resp.Body, left: maxAnswer, onRead: onRead})
	sse, err := isSSE(body)
	var text []byte
	switch {
	case err != nil:
	case sse || t.provider.ndjson:
		var answer *streamed
		if answer, err = t.provider.readEvents(body, sse); err == nil {
			text, x.stop = answer.body(), answer.stop
		}
	default:
		text, err = io.ReadAll(body)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errIncomplete, redact(err, t.key))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// isSSE reports whether a body has server-sent events, by its first character: JSON begins
// with a bracket. Some servers with OpenAI's interface do not set the content type.
func isSSE(body *bufio.Reader) (bool, error) {
	for {
		next, err := body.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case bytes.ContainsAny(next, " \t\r\n"):
			_, _ = body.Discard(1)
		default:
			return bytes.ContainsAny(next, "deir:"), nil
		}
	}
}

// readEvents reads events, each a line, until the answer is complete.
func (p provider) readEvents(body io.Reader, sse bool) (*streamed, error) {
	answer := &streamed{}
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	for lines.Scan() {
		event := bytes.TrimSpace(lines.Bytes())
		if sse {
			data, found := bytes.CutPrefix(event, []byte("data:"))
			if !found {
				continue // names, ids, comments
			}
			event = bytes.TrimSpace(data)
		}
		if len(event) == 0 {
			continue
		}
		if last, err := p.readEvent(answer, event); err != nil || last {
			return answer, err
		}
	}
	if err := lines.Err(); err != nil || answer.complete {
		return answer, err
	}
	return answer, io.ErrUnexpectedEOF
}
