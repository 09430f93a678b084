package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// agent is a server that answers each request by the next of its turns.
type agent struct {
	t     *testing.T
	mu    sync.Mutex
	turns []turn
	// got has the method and Last-Event-ID of each request.
	got []string
	// message is the id of the question.
	message string
}

// turn answers a request.
type turn func(a *agent, w http.ResponseWriter)

func (a *agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var request struct {
		Method string
		Params struct{ Message struct{ MessageID string } }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.Header.Get("Authorization") != "Bearer token" {
		a.t.Errorf("request: %v, %v", err, r.Header)
	}
	a.got = append(a.got, strings.TrimSpace(request.Method+" "+r.Header.Get("Last-Event-ID")))
	if request.Params.Message.MessageID != "" {
		a.message = request.Params.Message.MessageID
	}
	if len(a.turns) == 0 {
		a.t.Errorf("an unexpected %s", request.Method)
		w.WriteHeader(http.StatusTeapot)
		return
	}
	next := a.turns[0]
	a.turns = a.turns[1:]
	next(a, w)
}

// events sends events, by their numbers, and then breaks off.
func events(numbers ...int) turn {
	return func(_ *agent, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": keep-alive\n\n")
		for _, n := range numbers {
			fmt.Fprintf(w, "id: %d\r\ndata: %s\n\n", n, event(n))
		}
	}
}

// event is one of a stream of four.
func event(n int) string {
	status := func(state string) string {
		return `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_` + state + `"}}}`
	}
	result := map[int]string{
		1: status("WORKING"), 4: status("COMPLETED"),
		2: `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"generated-query","parts":[{"text":"SELECT 1"}]}}}`,
		3: `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"result-data","parts":[{"text":"1 row"},{"data":{"rows":[{"n":9007199254740993}],"rowCount":1}}]}}}`,
	}[n]
	return `{"jsonrpc":"2.0","id":1,"result":` + result + `}`
}

func says(status int, text string) turn {
	return func(_ *agent, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// streams sends a text as a stream.
func streams(text string) turn {
	return func(_ *agent, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	}
}

// lists has the question among the tasks, or not.
func lists(found bool) turn {
	return func(a *agent, w http.ResponseWriter) {
		id := "another"
		if found {
			id = a.message
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"id":"t","history":[{"messageId":%q,"metadata":{"namespace":7}}]}]}}`, id)
	}
}

// hangUp closes the connection without an answer.
func hangUp(*agent, http.ResponseWriter) { panic(http.ErrAbortHandler) }

// asked asks, and gives the events that came and the error, if any.
func asked(t *testing.T, turns ...turn) (came []string, task Task, got *agent, failed error) {
	t.Helper()
	got = &agent{t: t, turns: turns}
	server := httptest.NewServer(got)
	defer server.Close()
	asking := New(server.URL, "token", 2).Agent("nl2ql").Ask(t.Context(), NewQuestion("How many?", "shop"), func(error) {})
	for e, err := range asking {
		if err != nil {
			return came, task, got, err
		}
		task.Apply(e)
		switch {
		case e.StatusUpdate != nil:
			came = append(came, e.StatusUpdate.Status.State.String())
		case e.ArtifactUpdate != nil:
			came = append(came, e.ArtifactUpdate.Artifact.ArtifactID)
		}
	}
	return came, task, got, nil
}

func TestAskThroughBreaks(t *testing.T) {
	t.Parallel()
	whole := []string{"working", "generated-query", "result-data", "completed"}
	for name, test := range map[string]struct {
		turns []turn
		want  []string
	}{
		"none": {[]turn{events(1, 2, 3, 4)}, []string{"SendStreamingMessage"}},
		"in the middle": {[]turn{events(1, 2), events(3), hangUp, says(503, ""), events(4)},
			[]string{"SendStreamingMessage", "SubscribeToTask 2", "SubscribeToTask 3", "SubscribeToTask 3", "SubscribeToTask 3"}},
		"a server that says things twice": {[]turn{events(1, 2, 2), events(1, 2, 3, 4)}, []string{"SendStreamingMessage", "SubscribeToTask 2"}},
		"a server that is going down": {[]turn{events(1), says(200, `{"error":{"code":-32603,"message":"internal"}}`), events(2, 3, 4)},
			[]string{"SendStreamingMessage", "SubscribeToTask 1", "SubscribeToTask 1"}},
		"half an event":                     {[]turn{streams("id: 1\ndata: " + event(1)[:20]), lists(true), events(1, 2, 3, 4)}, []string{"SendStreamingMessage", "ListTasks", "SubscribeToTask 0"}},
		"before its task was known":         {[]turn{hangUp, says(503, ""), hangUp, lists(true), events(1, 2, 3, 4)}, []string{"SendStreamingMessage", "ListTasks", "ListTasks", "ListTasks", "SubscribeToTask 0"}},
		"before it became a task":           {[]turn{events(), lists(false), events(1, 2, 3, 4)}, []string{"SendStreamingMessage", "ListTasks", "SendStreamingMessage"}},
		"events that are not numbered":      {[]turn{streams("data: " + event(1) + "\n\ndata: " + event(2) + "\n\ndata: " + event(3) + "\n\ndata: " + event(4) + "\n\n")}, []string{"SendStreamingMessage"}},
		"an event of several lines of data": {[]turn{streams("id:1\ndata: " + strings.Replace(event(1), ",", ",\ndata:", 1) + "\n\n"), events(2, 3, 4)}, []string{"SendStreamingMessage", "SubscribeToTask 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came, task, got, err := asked(t, test.turns...)
			if err != nil || !slices.Equal(came, whole) {
				t.Errorf("came %q, %v", came, err)
			}
			if !slices.Equal(got.got, test.want) {
				t.Errorf("asked %q", got.got)
			}
			if rows := task.Artifacts[1].Parts.Data().Rows; len(rows) != 1 || string(rows[0]) != `{"n":9007199254740993}` {
				t.Errorf("rows %s", rows)
			}
		})
	}
}

func TestAskFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		turns []turn
		is    func(error) bool
	}{
		"refused":           {[]turn{says(200, `{"error":{"code":-32602,"message":"no"}}`)}, func(err error) bool { return rpcCode(err) == InvalidParams }},
		"an unknown token":  {[]turn{says(401, `{"error_code":"UNAUTHORIZED","message":"no"}`)}, func(err error) bool { return Status(err) == 401 }},
		"too much to do":    {[]turn{says(429, `{}`)}, Unavailable},
		"deleted meanwhile": {[]turn{events(1), says(200, `{"error":{"code":-32001,"message":"no"}}`)}, func(err error) bool { return rpcCode(err) == TaskNotFound }},
		"no agent":          {[]turn{says(200, `{}`)}, func(err error) bool { return errors.Is(err, errNoEvent) }},
		"another server":    {[]turn{says(200, `<html>`)}, isForeign},
		"another page":      {[]turn{says(404, `<html>`)}, isForeign},
		"no HTTP":           {[]turn{hangUp, hangUp}, Unavailable},
		"no events":         {[]turn{streams("data: hello\n\n")}, func(err error) bool { return errors.Is(err, errNoEvent) }},
		"empty events":      {[]turn{streams("data: {\"result\":{}}\n\n")}, func(err error) bool { return errors.Is(err, errNoEvent) }},
		"an error in the stream": {[]turn{streams(`data: {"error":{"code":-32602,"message":"no"}}` + "\n\n")},
			func(err error) bool { return rpcCode(err) == InvalidParams }},
		"an endless event":  {[]turn{endless("data: ", "x")}, func(err error) bool { return errors.Is(err, errTooMuch) }},
		"an endless stream": {[]turn{endless("", "data: "+event(1)+strings.Repeat(" ", 1<<16)+"\n\n")}, func(err error) bool { return errors.Is(err, errTooMuch) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, got, err := asked(t, test.turns...); err == nil || !test.is(err) {
				t.Errorf("%v after %q", err, got.got)
			}
		})
	}
	_, err := New("http://127.0.0.1:1", "token", 1).Agent("nl2ql").Task(t.Context(), "x")
	if !Unavailable(err) || strings.Contains(err.Error(), "/api") {
		t.Errorf("nobody there: %v", err)
	}
}

func isForeign(err error) bool {
	_, ok := errors.AsType[*ForeignError](err)
	return ok
}

func rpcCode(err error) int {
	if refused, ok := errors.AsType[*RPCError](err); ok {
		return refused.Code
	}
	return 0
}

// endless sends more than any client should take.
func endless(first, again string) turn {
	return func(_ *agent, w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first)
		again := strings.Repeat(again, 1+1<<16/len(again))
		for sent := 0; sent < 2*maxAnswer; sent += len(again) {
			if _, err := io.WriteString(w, again); err != nil {
				return
			}
		}
	}
}

// A question that is not waited for any more ends, also between two tries.
func TestAskCanceled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&agent{t: t, turns: []turn{events(1)}})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var failed error
	for _, err := range New(server.URL, "token", 1).Agent("nl2ql").Ask(ctx, NewQuestion("How many?", "shop"), func(error) { cancel() }) {
		failed = err
	}
	if !errors.Is(failed, context.Canceled) {
		t.Errorf("got %v", failed)
	}
}

// roundTrips answers requests without a network, so that time can be a fake.
type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stream answers with a text, and then with nothing at all until the request is
// given up, or with the end.
func stream(r *http.Request, text string, hangs bool) *http.Response {
	body := io.Reader(strings.NewReader(text))
	if hangs {
		body = io.MultiReader(body, silent{r.Context()})
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Request: r}
}

type silent struct{ context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.Done()
	return 0, s.Err()
}

// sent is an event as it is sent.
func sent(n int) string { return fmt.Sprintf("id: %d\ndata: %s\n\n", n, event(n)) }

// A stream that says nothing, not even that it lives, is taken for broken.
func TestAskOfSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, answers := time.Now(), []string{sent(1), sent(2) + sent(3) + sent(4)}
		c := New("http://server", "token", 1)
		c.http.Transport = roundTrips(func(r *http.Request) (*http.Response, error) {
			text := answers[0]
			answers = answers[1:]
			return stream(r, text, true), nil
		})
		came, breaks := 0, 0
		for _, err := range c.Agent("nl2ql").Ask(t.Context(), NewQuestion("How many?", "shop"), func(err error) {
			breaks++
			if !errors.Is(err, errSilent) {
				t.Errorf("broken: %v", err)
			}
		}) {
			if came++; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); came != 4 || breaks != 1 || took < silence || took > silence+lastPause {
			t.Errorf("%d events, %d breaks, %s", came, breaks, took)
		}
	})
}

// A server that stays away is given up.
func TestAskGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		c := New("http://server", "token", 1)
		c.http.Transport = roundTrips(func(r *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return stream(r, sent(1), false), nil
			}
			return nil, io.ErrUnexpectedEOF
		})
		var failed error
		for _, err := range c.Agent("nl2ql").Ask(t.Context(), NewQuestion("How many?", "shop"), func(error) {}) {
			failed = err
		}
		if took := time.Since(start); !Unavailable(failed) || took > reconnectTimeout || took < reconnectTimeout/2 || tries > 30 {
			t.Errorf("%v after %s and %d tries", failed, took, tries)
		}
	})
}

// hung answers nothing until the request is given up.
func hung(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A server that takes the question, breaks off and then hangs is given up, too.
func TestAskOfHungServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		c := New("http://server", "token", 1)
		c.http.Transport = roundTrips(func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
			if tries++; tries == 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return hung(r)
		})
		var failed error
		for _, err := range c.Agent("nl2ql").Ask(t.Context(), NewQuestion("How many?", "shop"), func(error) {}) {
			failed = err
		}
		if took := time.Since(start); !Unavailable(failed) || took > reconnectTimeout || tries != 2 {
			t.Errorf("%v after %s and %d tries", failed, took, tries)
		}
	})
}

// A call of a hung server ends; a question that is sent may take its time.
func TestCallOfHungServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := New("http://server", "token", 1)
		c.http.Transport = roundTrips(hung)
		start := time.Now()
		err := c.Call(t.Context(), http.MethodGet, "/data", nil, nil)
		if took := time.Since(start); !Unavailable(err) || took != callLimit {
			t.Errorf("%v after %s", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start = time.Now()
		_, err = c.Agent("nl2ql").Send(ctx, NewQuestion("How many?", "shop"))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Hour {
			t.Errorf("sent: %v after %s", err, took)
		}
	})
}
