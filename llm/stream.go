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

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 1 << 20

// collect sends a request for a stream and gives its answer whole. The request
// is given up when nothing comes for as long as x.want.idle.
func (t *transport) collect(req *http.Request, x *exchange) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	watch := time.AfterFunc(x.want.idle, func() { cancel(errIdle) })
	defer watch.Stop()

	resp, err := t.send(req.WithContext(ctx))
	if err == nil {
		resp, err = t.whole(resp, x, func() { watch.Reset(x.want.idle) })
	}
	if err != nil && errors.Is(context.Cause(ctx), errIdle) {
		err = errIdle
	}
	return resp, err
}

// whole reads a streamed answer to its end. A server that does not stream is
// taken as it is.
func (t *transport) whole(resp *http.Response, x *exchange, heard func()) (*http.Response, error) {
	defer resp.Body.Close()
	body := bufio.NewReader(&listener{&limited{ReadCloser: resp.Body, left: maxAnswer}, heard})
	sse, err := isSSE(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIncomplete, redact(err, t.key))
	}
	var text []byte
	answer := t.provider.assemble()
	_, lines := answer.(*ollamaAnswer)
	if !sse && !lines {
		if text, err = io.ReadAll(body); err != nil {
			err = fmt.Errorf("%w: %w", errIncomplete, err)
		}
	} else if err = readEvents(body, sse, answer); err == nil {
		text, x.stop = answer.whole(), answer.stop()
	}
	if err != nil {
		return nil, redact(err, t.key)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

// listener tells of every read that gives something.
type listener struct {
	io.Reader
	heard func()
}

// Read implements [io.Reader].
func (l *listener) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if n > 0 {
		l.heard()
	}
	return n, err
}

// isSSE reports whether a body is a stream of server-sent events, by what it
// begins with: JSON begins with a bracket. Servers that speak like OpenAI do not
// all name the type.
func isSSE(body *bufio.Reader) (bool, error) {
	for {
		next, err := body.Peek(1)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = body.Discard(1)
		case 'd', 'e', 'i', 'r', ':':
			return true, nil
		default:
			return false, nil
		}
	}
}

// readEvents reads events, each a line, until the answer is whole.
func readEvents(body io.Reader, sse bool, answer assembler) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	for lines.Scan() {
		event := bytes.TrimSpace(lines.Bytes())
		if sse {
			data, found := bytes.CutPrefix(event, []byte("data:"))
			if !found {
				continue // names, ids, comments, the empty line in between
			}
			event = bytes.TrimSpace(data)
		}
		if len(event) == 0 {
			continue
		}
		if end, err := answer.add(event); err != nil || end {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%w: %w", errIncomplete, err)
	}
	if !answer.finished() {
		return errIncomplete
	}
	return nil
}
