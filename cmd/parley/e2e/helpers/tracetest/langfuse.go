// Package tracetest has a stand-in for Langfuse on loopback. It stores scores as Langfuse
// does and receives traces by OTLP, or fails in the ways that a tracing store can.
package tracetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The keys of the stand-in.
const (
	PublicKey = "pk-lf-stand-in"
	SecretKey = "sk-lf-hunter2"
)

// Mode is how the stand-in behaves.
type Mode string

// The modes. All but Well fail, each in its own way.
const (
	Well Mode = "well"
	// Dead closes connections, Slow never answers, Deaf works and never answers.
	Dead Mode = "dead"
	Slow Mode = "slow"
	Deaf Mode = "deaf"
	// The liars answer 200.
	LiesHTML  Mode = "HTML"
	LiesJSON  Mode = "other JSON"
	LiesEmpty Mode = "nothing"
	LiesLong  Mode = "an endless answer"
	// The rest answer as servers do.
	Refuses     Mode = "401"
	Broken      Mode = "500"
	Overloaded  Mode = "429"
	Redirects   Mode = "302"
	KeepsScores Mode = "500 to DELETE"
)

// Failures are the modes in which no score can be made.
var Failures = []Mode{Dead, Slow, LiesHTML, LiesJSON, LiesEmpty, LiesLong, Refuses, Broken, Overloaded, Redirects}

// Score is a stored score, by day, name and id.
type Score struct {
	Day      string `json:"-"`
	ID       string `json:"id"`
	TraceID  string `json:"traceId"`
	Name     string `json:"name"`
	Value    int    `json:"value"`
	DataType string `json:"dataType"`
	Comment  string `json:"comment"`
}

// Langfuse is a stand-in.
type Langfuse struct {
	URL string

	t      testing.TB
	hung   chan struct{}
	mu     sync.Mutex
	mode   Mode
	day    string
	scores []Score
	calls  []string
	spans  []Span
}

// NewLangfuse starts a stand-in that ends with the test.
func NewLangfuse(t testing.TB) *Langfuse {
	t.Helper()
	l := &Langfuse{t: t, mode: Well, day: "2026-01-01", hung: make(chan struct{})}
	server := httptest.NewServer(l)
	l.URL = server.URL
	t.Cleanup(func() {
		close(l.hung)
		server.Close()
	})
	return l
}

// Behave sets the mode.
func (l *Langfuse) Behave(mode Mode) { l.locked(func() { l.mode = mode }) }

// SetDay sets the stand-in's date.
func (l *Langfuse) SetDay(day string) { l.locked(func() { l.day = day }) }

// Scores returns the stored scores.
func (l *Langfuse) Scores() (scores []Score) {
	l.locked(func() { scores = slices.Clone(l.scores) })
	return scores
}

// Calls returns the requests, each with the number of scores that were stored then.
func (l *Langfuse) Calls() (calls []string) {
	l.locked(func() { calls = slices.Clone(l.calls) })
	return calls
}

// Spans returns the received spans, in the order in which they ended.
func (l *Langfuse) Spans() (spans []Span) {
	l.locked(func() { spans = slices.Clone(l.spans) })
	return spans
}

func (l *Langfuse) locked(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
}

// ServeHTTP implements http.Handler.
func (l *Langfuse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var mode Mode
	l.locked(func() {
		mode = l.mode
		l.calls = append(l.calls, fmt.Sprintf("%s %s with %d", r.Method, r.URL.Path, len(l.scores)))
	})
	if username, password, ok := r.BasicAuth(); !ok || username != PublicKey || password != SecretKey {
		mode = Refuses
	}
	if mode == KeepsScores && r.Method == http.MethodDelete {
		mode = Broken
	}
	switch mode {
	case Well, KeepsScores:
		l.serve(w, r, body)
	case Deaf:
		l.serve(httptest.NewRecorder(), r, body)
		l.hang(r)
	case Slow:
		l.hang(r)
	case Dead:
		panic(http.ErrAbortHandler)
	case LiesHTML:
		answer(w, http.StatusOK, "<html>Welcome</html>")
	case LiesJSON:
		answer(w, http.StatusOK, `{"id":"another","message":7}`)
	case LiesEmpty:
		w.WriteHeader(http.StatusOK)
	case LiesLong:
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	case Refuses:
		// Some servers repeat what they were sent.
		answer(w, http.StatusUnauthorized, `{"message":"Invalid credentials: `+r.Header.Get("Authorization")+`"}`)
	case Broken:
		answer(w, http.StatusInternalServerError, `{"message":"`+r.Header.Get("Authorization")+`"}`)
	case Overloaded:
		answer(w, http.StatusTooManyRequests, `{"message":"slow down"}`)
	case Redirects:
		http.Redirect(w, r, l.URL+"/sign-in?then="+r.Header.Get("Authorization"), http.StatusFound)
	}
}

// hang holds a request until its client gives up.
func (l *Langfuse) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-l.hung:
	}
}

// answer sends JSON, or HTML that begins with a tag.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "<") {
		w.Header().Set("Content-Type", "text/html")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// serve does what Langfuse does.
func (l *Langfuse) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id, isScore := strings.CutPrefix(r.URL.Path, "/api/public/scores/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/api/public/scores":
		l.put(w, body)
	case r.Method == http.MethodDelete && isScore:
		before := len(l.scores)
		l.scores = slices.DeleteFunc(l.scores, func(s Score) bool { return s.ID == id })
		if len(l.scores) == before {
			answer(w, http.StatusNotFound, `{"message":"Score not found within authorized project"}`)
			return
		}
		answer(w, http.StatusOK, `{"message":"Score deletion queued"}`)
	case r.Method == http.MethodPost && r.URL.Path == "/api/public/otel/v1/traces":
		l.take(w, r, body)
	default:
		answer(w, http.StatusNotFound, "<html>404</html>")
	}
}

func (l *Langfuse) put(w http.ResponseWriter, body []byte) {
	score := Score{Day: l.day}
	if err := json.Unmarshal(body, &score); err != nil || score.ID == "" || score.TraceID == "" || score.Name == "" {
		answer(w, http.StatusBadRequest, `{"message":"Invalid request data"}`)
		return
	}
	l.scores = slices.DeleteFunc(l.scores, func(s Score) bool {
		return s.Day == score.Day && s.Name == score.Name && s.ID == score.ID
	})
	l.scores = append(l.scores, score)
	answer(w, http.StatusOK, fmt.Sprintf(`{"id":%q}`, score.ID))
}

func (l *Langfuse) take(w http.ResponseWriter, r *http.Request, body []byte) {
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		l.t.Errorf("traces that cannot be read: %v", err)
	}
	if r.Header.Get("x-langfuse-ingestion-version") == "" {
		l.t.Error("traces without the version of their form")
	}
	l.spans = append(l.spans, spansOf(&request)...)
	w.Header().Set("Content-Type", "application/x-protobuf")
}
