package e2etest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
)

// Webhook receives push notifications. Those of a task have a path of their own.
type Webhook struct {
	*httptest.Server
	t  testing.TB
	mu sync.Mutex
	// events are those that were taken, by path, in order; again counts those that came
	// again.
	events       map[string][]string
	count, again int
}

// NewWebhook makes a Webhook on loopback. answer gives the status for the request of a
// number, from 1 on; what is not taken must come again before what follows it.
func NewWebhook(t testing.TB, answer func(number int) int) *Webhook {
	t.Helper()
	w := &Webhook{t: t, events: map[string][]string{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender is gone
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.count++
		status := answer(w.count)
		if status/100 == 2 {
			w.take(r, string(body))
		}
		rw.WriteHeader(status)
	}))
	t.Cleanup(w.Close)
	return w
}

// take keeps an event, which follows the last one or is one of those before.
func (w *Webhook) take(r *http.Request, body string) {
	had := w.events[r.URL.Path]
	number, err := strconv.Atoi(r.Header.Get("Parley-Event-Id"))
	switch {
	case err != nil || number < 1 || number > len(had)+1:
		w.t.Errorf("%s: event %q after event %d", r.URL.Path, r.Header.Get("Parley-Event-Id"), len(had))
	case number <= len(had):
		if w.again++; had[number-1] != body {
			w.t.Errorf("%s: event %d came again as\n%s, was\n%s", r.URL.Path, number, body, had[number-1])
		}
	default:
		w.events[r.URL.Path] = append(had, body)
	}
}

// Count returns how many requests came.
func (w *Webhook) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// Again returns how many events came again.
func (w *Webhook) Again() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.again
}

// Events returns those that came to a path.
func (w *Webhook) Events(path string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events[path]
}

// Pushed asks a question whose events are sent to a path, and gives the stream to compare
// them with.
func (f *Fallible) Pushed(q Probe, w *Webhook, path string) *Stream {
	f.T.Helper()
	params := QuestionParams(q.Text)
	params["message"].(Object)["messageId"] = path
	params["configuration"] = Object{
		"returnImmediately": true, "taskPushNotificationConfig": Object{"url": w.URL + path, "token": "a token"},
	}
	var sent struct{ Task struct{ ID string } }
	f.Result(q.Agent, "SendMessage", params, &sent)
	if sent.Task.ID == "" {
		f.T.Fatalf("%s: no task", path)
	}
	return &Stream{Probe: q, TaskID: sent.Task.ID}
}

// CheckPushed waits until all events of a stream came to a path, and compares them.
func (f *Fallible) CheckPushed(s *Stream, w *Webhook, path string) {
	f.T.Helper()
	if !f.Read(s) {
		return
	}
	Eventually(f.T, func() bool { return len(w.Events(path)) >= len(s.Events) })
	for i, event := range w.Events(path) {
		var streamed struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(s.Events[i]), &streamed); err != nil || string(streamed.Result) != event {
			f.T.Errorf("%s, event %d: sent\n%s, streamed\n%s (%v)", path, i+1, event, s.Events[i], err)
		}
	}
	if got := s.Shape(); got != s.Probe.Shape {
		f.T.Errorf("%s: %s", path, got)
	}
}
