package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFrozenReplica freezes a server in the middle of a run until another has
// taken the run over and ended it. What the first one then has to say of the run
// is refused, and nobody sees it.
func TestFrozenReplica(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2)
	first, second := f.now[0].Load(), f.now[1].Load()
	c := client{first, f.token}
	rows := object{"data": []object{{"item": "apple", "city": "Berlin"}, {"item": "pear", "city": "Paris"}, {"item": "fig", "city": "Berlin"}}}
	if status := c.ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	letGo := c.hold()
	frozen := &fallible{t: t, token: f.token, where: func() *process { return first }, due: make(chan struct{}, 1)}
	s := &stream{probe: probe{agent: "assistant", text: "How many orders are there?"}}
	response, err := frozen.open(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	ended := make(chan error, 1)
	frozen.fuse.Store(4) // up to the first step, whose query hangs
	go func() { ended <- frozen.follow(s, response) }()
	<-frozen.due
	first.signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = first.cmd.Process.Signal(syscall.SIGCONT) })

	// Somebody else reads it to its end, at the other server.
	other := &fallible{t: t, token: f.token, where: func() *process { return second }}
	whole := &stream{probe: s.probe, taskID: s.taskID}
	if !other.read(whole) {
		return
	}
	first.signal(syscall.SIGCONT)
	letGo()
	// The first one finds that the run is over, and its reader hears the rest.
	if err := <-ended; err != nil && !s.done && !frozen.read(s) {
		t.Errorf("the reader at the first server: %v", err)
	}
	if !slices.Equal(s.events, whole.events) {
		t.Errorf("there\n%s\nhere\n%s", strings.Join(s.events, "\n"), strings.Join(whole.events, "\n"))
	}
	again := &stream{probe: s.probe, taskID: s.taskID}
	if !other.read(again) || !slices.Equal(again.events, whole.events) {
		t.Errorf("afterwards\n%s\nbefore\n%s", strings.Join(again.events, "\n"), strings.Join(whole.events, "\n"))
	}
	if got, want := whole.shape(), "task WORKING WORKING WORKING step-0 answer COMPLETED"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !strings.Contains(second.log.String(), "a run is taken up") {
		t.Error("nobody took the run up")
	}
	// And it works as before.
	c.process = first
	eventually(t, func() bool { return c.count("shop/orders") == 3 })
}
