package replicas

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestFrozenReplica freezes a server in the middle of a run until another has
// taken the run over and ended it. What the first one then has to say of the run
// is refused, and nobody sees it.
func TestFrozenReplica(t *testing.T) {
	t.Parallel()
	f := e2etest.StartFleet(t, 2)
	first, second := f.Now[0].Load(), f.Now[1].Load()
	c := e2etest.Client{Process: first, Token: f.Token}
	rows := e2etest.Object{"data": []e2etest.Object{{"item": "apple", "city": "Berlin"}, {"item": "pear", "city": "Paris"}, {"item": "fig", "city": "Berlin"}}}
	if status := c.Ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	letGo := c.Hold()
	frozen := &e2etest.Fallible{T: t, Token: f.Token, Where: func() *e2etest.Process { return first }, Due: make(chan struct{}, 1)}
	s := &e2etest.Stream{Probe: e2etest.Probe{Agent: "assistant", Text: "How many orders are there?"}}
	response, err := frozen.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	ended := make(chan error, 1)
	frozen.Fuse.Store(4) // up to the first step, whose query hangs
	go func() { ended <- frozen.Follow(s, response) }()
	<-frozen.Due
	first.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = first.Cmd.Process.Signal(syscall.SIGCONT) })

	// Somebody else reads it to its end, at the other server.
	other := &e2etest.Fallible{T: t, Token: f.Token, Where: func() *e2etest.Process { return second }}
	whole := &e2etest.Stream{Probe: s.Probe, TaskID: s.TaskID}
	if !other.Read(whole) {
		return
	}
	first.Signal(syscall.SIGCONT)
	letGo()
	// The first one finds that the run is over, and its reader hears the rest.
	if err := <-ended; err != nil && !s.Done && !frozen.Read(s) {
		t.Errorf("the reader at the first server: %v", err)
	}
	if !slices.Equal(s.Events, whole.Events) {
		t.Errorf("there\n%s\nhere\n%s", strings.Join(s.Events, "\n"), strings.Join(whole.Events, "\n"))
	}
	again := &e2etest.Stream{Probe: s.Probe, TaskID: s.TaskID}
	if !other.Read(again) || !slices.Equal(again.Events, whole.Events) {
		t.Errorf("afterwards\n%s\nbefore\n%s", strings.Join(again.Events, "\n"), strings.Join(whole.Events, "\n"))
	}
	if got, want := whole.Shape(), "task WORKING WORKING WORKING step-0 answer COMPLETED"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !strings.Contains(second.Log.String(), "run resumed") {
		t.Error("nobody took the run up")
	}
	// And it works as before.
	c.Process = first
	e2etest.Eventually(t, func() bool { return c.Count("shop/orders") == 3 })
}
