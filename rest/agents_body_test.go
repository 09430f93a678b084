package rest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
)

// heldAgents answer when they are told to, and release the slot of a body before.
type heldAgents struct {
	rest.Agents
	called          atomic.Int32
	release, answer chan struct{}
}

func (a *heldAgents) Call(w http.ResponseWriter, r *http.Request, _ domain.Caller, _, _ string, _ []byte) error {
	a.called.Add(1)
	<-a.release
	fair.Release(r.Context())
	<-a.answer
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// countingReader counts the bytes that are read.
type countingReader struct {
	io.Reader
	read *atomic.Int64
}

func (r countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

// TestAgentBodiesTakeTurns sends messages with attachments. More than some of them wait for
// a slot, which is free again when the agents have stored what they need, and small ones
// need none. Of those that wait, little is read.
func TestAgentBodiesTakeTurns(t *testing.T) {
	t.Parallel()
	agents := &heldAgents{release: make(chan struct{}), answer: make(chan struct{})}
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
		agents.Agents, cfg.Agents = cfg.Agents, agents
		cfg.MaxBody, cfg.MaxAgentBody = 1<<10, 64<<10
	})
	s.rest.SetQueueTimeout(time.Hour)
	token := s.token("alice")
	var read atomic.Int64
	send := func(size int) *httptest.ResponseRecorder {
		// Without a length, as some clients send it.
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, rest.Root+"/a2a/nl2ql", countingReader{strings.NewReader(strings.Repeat("x", size)), &read})
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		s.rest.ServeHTTP(answer, request)
		return answer
	}
	const atOnce, waiting, small = 4, 3, 2
	var done sync.WaitGroup
	sendAll := func(count, size int) {
		for range count {
			done.Go(func() {
				if answer := send(size); answer.Code != http.StatusNoContent {
					t.Errorf("%d bytes: %d %s", size, answer.Code, answer.Body)
				}
			})
		}
	}
	sendAll(atOnce+waiting, 32<<10)
	waittest.Until(t, "turns", func() bool {
		bodies, _, _ := s.rest.QueueStats()
		return bodies.Running == atOnce && bodies.Waiting == waiting && agents.called.Load() == atOnce
	})
	if n := read.Load(); n > atOnce*32<<10+waiting*2<<10 {
		t.Errorf("%d bytes were read", n)
	}
	sendAll(small, 1<<10-1)
	waittest.Until(t, "small messages", func() bool { return agents.called.Load() == atOnce+small })
	close(agents.release)
	waittest.Until(t, "free slots while the agents work", func() bool {
		bodies, _, _ := s.rest.QueueStats()
		return bodies.Running == 0 && bodies.Waiting == 0 && agents.called.Load() == atOnce+waiting+small
	})
	if answer := send(65 << 10); answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large: %d %s", answer.Code, answer.Body)
	}
	close(agents.answer)
	done.Wait()
}
