package objects_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/fair"
	"parley/storage/objects"
)

// heldBody is a part of four bytes that comes in when its gate opens, and counts
// the readers.
type heldBody struct {
	io.Reader
	gate    <-chan struct{}
	started *atomic.Int32
	once    sync.Once
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.once.Do(func() { b.started.Add(1) })
	<-b.gate
	return b.Reader.Read(p)
}

func (b *heldBody) Close() error { return nil }

// sender sends parts to a folder, without a network between them.
type sender struct {
	*testing.T
	handler http.Handler
	folder  *objects.Folder
	gate    chan struct{}
	started atomic.Int32
	done    sync.WaitGroup
}

func newSender(t *testing.T, queue fair.Config, wait time.Duration) *sender {
	folder, _ := newFolder(t, objects.FolderConfig{Queue: queue, QueueTimeout: wait})
	return &sender{T: t, folder: folder, handler: handler(folder), gate: make(chan struct{})}
}

// part sends a part of a user's, whose bytes come when the gate is open.
func (s *sender) part(user string, gate <-chan struct{}) int {
	address, err := s.folder.PartURL(s.Context(), user, begin(s, s.folder, "uploads/"+user), 1, 4, time.Minute)
	if err != nil {
		s.Error(err)
	}
	request := httptest.NewRequestWithContext(s.Context(), http.MethodPut, address, nil)
	request.ContentLength = 4
	request.Body = &heldBody{Reader: strings.NewReader("part"), gate: gate, started: &s.started}
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, request)
	return answer.Code
}

// flood has a user send so many parts that do not come.
func (s *sender) flood(user string, parts int) {
	for range parts {
		s.done.Go(func() {
			if status := s.part(user, s.gate); status != http.StatusOK {
				s.Errorf("a part that had a slot was answered %d", status)
			}
		})
	}
}

// until waits for a number of parts that come in and of those that wait.
func (s *sender) until(running, waiting int) {
	s.Helper()
	waittest.Until(s, fmt.Sprintf("%d parts come in, %d wait", running, waiting), func() bool {
		now := s.folder.QueueStats()
		return now.Running == running && now.Waiting == waiting && int(s.started.Load()) == running
	})
}

// TestPartsTakeTurns has one user send more parts than all users may at once. Only those
// that have a slot are read.
func TestPartsTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSender(t, fair.Config{What: "parts", Slots: 4, SlotsPerUser: 3, MaxQueued: 1000, MaxQueuedPerUser: 200}, time.Hour)
	s.flood("alice", 203)
	s.until(3, 200)
	if status := s.part("alice", s.gate); status != http.StatusTooManyRequests {
		t.Errorf("one too many of a user's was answered %d", status)
	}
	open := make(chan struct{})
	close(open)
	for range 5 {
		if status := s.part("bob", open); status != http.StatusOK {
			t.Errorf("somebody else's part was answered %d", status)
		}
	}
	if read := s.started.Load(); read != 3+5 {
		t.Errorf("%d parts were read without a slot", read-8)
	}
	close(s.gate)
	s.done.Wait()
	if now := s.folder.QueueStats(); now != (fair.Stats{Refused: 1}) {
		t.Errorf("left behind: %+v", now)
	}
}

func TestPartsDoNotWaitForEver(t *testing.T) {
	t.Parallel()
	s := newSender(t, fair.Config{What: "parts", Slots: 3, SlotsPerUser: 2, MaxQueued: 9, MaxQueuedPerUser: 9}, 20*time.Millisecond)
	s.flood("alice", 2)
	s.until(2, 0)
	if status := s.part("alice", s.gate); status != http.StatusTooManyRequests {
		t.Errorf("a user who sends two already was answered %d", status)
	}
	s.flood("bob", 1)
	s.until(3, 0)
	if status := s.part("carol", s.gate); status != http.StatusServiceUnavailable {
		t.Errorf("a user who sends none was answered %d", status)
	}
	close(s.gate)
	s.done.Wait()
}
