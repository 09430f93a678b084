package apiclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/retry"
)

const (
	// silence is how long a stream may be idle. Servers send a comment every 15 seconds.
	silence = 45 * time.Second
	// reconnectTimeout is how long reconnecting may take.
	reconnectTimeout = time.Minute
	// The pauses between attempts grow from the first to the last.
	firstPause, lastPause = 200 * time.Millisecond, 5 * time.Second
)

var (
	errSilent   = errors.New("nothing came for too long")
	errBrokeOff = errors.New("the stream was interrupted")
	errTooMuch  = fmt.Errorf("the agent's answer is larger than %d bytes", maxAnswer)
)

// Ask sends a question, or an answer, and yields the events of its task to the end, or to a
// question to the user. It resumes a broken stream, for up to a minute: no event is lost or
// repeated. broken is called for each break. After an error the task may still run.
func (a Agent) Ask(ctx context.Context, q Question, broken func(error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{agent: a, question: q, last: q.After}
		f.attempts = retry.New(retry.Policy{
			Initial: firstPause, Max: lastPause, Timeout: reconnectTimeout,
			Retryable: func(err error) bool { return ctx.Err() == nil && f.transient(err) },
			Notify: func(err error, _ time.Duration) {
				if f.since.IsZero() {
					f.since = time.Now()
				}
				broken(err)
			},
		})
		if err := f.attempts.Do(ctx, func() error { return f.attempt(ctx, yield) }); err != nil {
			yield(Event{}, err)
		}
	}
}

// follower follows the task of a question.
type follower struct {
	agent    Agent
	question Question
	attempts *retry.Retrier
	// task is "" until it is known; last is the number of its last event.
	task string
	last int64
	size int
	// since is when the stream broke; zero while it is connected.
	since time.Time
	// connected says that the last attempt had a connection.
	connected atomic.Bool
}

// listen yields the events of one connection, to the end of the task or to a question.
func (f *follower) listen(ctx context.Context, yield func(Event, error) bool) error {
	method, params := "SendStreamingMessage", any(f.question.params())
	if f.task != "" {
		method, params = "SubscribeToTask", map[string]any{"id": f.task}
	}
	for e, err := range f.agent.stream(ctx, method, params, f.task != "", f.last) {
		if err != nil {
			return err
		}
		if f.size += e.size; f.size > maxAnswer {
			return errTooMuch
		}
		if e.number > 0 && e.number <= f.last {
			continue
		}
		f.last, f.since = max(f.last, e.number), time.Time{}
		f.attempts.Reset()
		var task Task
		task.Apply(e.Event)
		f.task = task.ID
		e.Number = e.number
		if state := task.Status.State; !yield(e.Event, nil) || state.Ended() || state.Waits() {
			break
		}
	}
	return nil
}

// attempt finds the task if the question may have started one, and listens.
func (f *follower) attempt(ctx context.Context, yield func(Event, error) bool) error {
	f.connected.Store(false)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.connected.Store(true) }})
	if f.task == "" && !f.since.IsZero() && f.question.TaskID == "" {
		task, err := f.find(ctx)
		if err != nil {
			return err
		}
		if task != nil { // otherwise the question is sent again
			f.task = task.ID
		}
	}
	err := f.listen(ctx, yield)
	var refused *RPCError
	if f.task == "" && f.question.TaskID != "" && !f.since.IsZero() && errors.As(err, &refused) && refused.Code == NotWaiting {
		f.task = f.question.TaskID // it has the answer already
		return f.listen(ctx, yield)
	}
	return err
}

// find looks for the task of the question until reconnectTimeout.
func (f *follower) find(ctx context.Context) (*Task, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, f.since.Add(reconnectTimeout), errSilent)
	defer cancel()
	return f.agent.Find(ctx, f.question)
}

// transient reports whether to retry. A server that is unreachable or overloaded at the
// first attempt is reported at once, and one that has never sent an HTTP response at the
// second: it may have died with the question, but then there is no connection either.
func (f *follower) transient(err error) bool {
	started := f.task != "" || !f.since.IsZero()
	var refused *RPCError
	switch {
	case errors.As(err, &refused):
		return started && refused.Code == InternalError // it is going down
	case !started && (Status(err) != 0 || !f.connected.Load()):
		return false
	case started && f.connected.Load() && !f.agent.client.responded.Load():
		return false
	}
	return Unavailable(err)
}

// numberedEvent is an event with its number in the stream and its size in bytes.
type numberedEvent struct {
	Event
	number int64
	size   int
}

// stream yields the events of one connection. It always ends with an error, for which
// Unavailable holds if the connection broke.
func (a Agent) stream(ctx context.Context, method string, params any, resume bool, after int64) iter.Seq2[numberedEvent, error] {
	return func(yield func(numberedEvent, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		alarm := time.AfterFunc(silence, func() { cancel(errSilent) })
		defer alarm.Stop()
		response, err := a.open(ctx, method, params, resume, after)
		if err != nil {
			yield(numberedEvent{}, err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		wanted := true
		err = readEvents(response.Body, func() { alarm.Reset(silence) }, func(e numberedEvent) bool {
			wanted = yield(e, nil)
			return wanted
		})
		if wanted {
			yield(numberedEvent{}, broken(response.Request, cmp.Or(err, errBrokeOff)))
		}
	}
}

// open requests a stream, from its beginning or after an event. Its body is limited to
// maxAnswer.
func (a Agent) open(ctx context.Context, method string, params any, resume bool, after int64) (*http.Response, error) {
	body, err := json.Marshal(rpcRequest(method, params))
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	request, err := a.client.request(ctx, http.MethodPost, a.path(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream, application/json")
	if resume {
		request.Header.Set("Last-Event-ID", strconv.FormatInt(after, 10))
	}
	response, err := a.client.send(request)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	kind := response.Header.Get("Content-Type")
	if response.StatusCode == http.StatusOK && strings.HasPrefix(kind, "text/event-stream") {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, noStream(request, response.StatusCode, response.Body)
}

// broken returns why a stream ended.
func broken(request *http.Request, err error) error {
	var large *http.MaxBytesError
	var unreadable *json.SyntaxError
	var refused *RPCError
	switch {
	case errors.As(err, &large), errors.Is(err, bufio.ErrTooLong):
		return errTooMuch
	case errors.As(err, &unreadable), errors.As(err, &refused), errors.Is(err, errNoEvent):
		return err
	}
	return unreachable(request, err)
}

// noStream returns the error of an answer that is no stream.
func noStream(request *http.Request, status int, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return broken(request, err)
	}
	if status/100 != 2 {
		return ofParley(request, refusal(status, nil, text))
	}
	if !json.Valid(text) {
		return &ForeignError{serverOf(request), "no JSON"}
	}
	var answer rpcAnswer
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error == nil {
		return errNoEvent
	}
	return answer.Error
}

var errNoEvent = errors.New("the server does not respond like an agent")

// readEvents reads server-sent events until they end or yield returns false. onLine is
// called for every line, comments too.
func readEvents(r io.Reader, onLine func(), yield func(numberedEvent) bool) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAnswer)
	var e numberedEvent
	var data []byte
	for lines.Scan() {
		onLine()
		field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "id":
			e.number, _ = strconv.ParseInt(string(value), 10, 64) // 0 for a stream without numbers
		case "data":
			data = append(append(data, value...), '\n')
		case "":
			if len(lines.Bytes()) > 0 || len(data) == 0 {
				continue // a comment, or no data
			}
			e.size = len(data)
			if err := e.read(data); err != nil {
				return err
			}
			if !yield(e) {
				return nil
			}
			e, data = numberedEvent{}, nil
		}
	}
	return lines.Err()
}

func (e *numberedEvent) read(data []byte) error {
	var answer rpcAnswer
	if err := json.Unmarshal(data, &answer); err != nil {
		return errNoEvent
	}
	if err := answer.read(&e.Event); err != nil {
		return err
	}
	if e.Task == nil && e.StatusUpdate == nil && e.ArtifactUpdate == nil {
		return errNoEvent
	}
	return nil
}
