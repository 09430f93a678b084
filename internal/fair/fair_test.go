package fair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/fair"
	"parley/storage"
)

// enqueue takes a place, or a place in the queue.
func join(t *testing.T, line *fair.Queue, user string) *fair.Slot {
	t.Helper()
	p, err := line.Acquire(user)
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	return p
}

var small = fair.Config{What: "questions", Slots: 3, SlotsPerUser: 2, MaxQueued: 5, MaxQueuedPerUser: 3}

func TestAFloodDoesNotKeepOthersWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, flood)
}

func flood(t *testing.T) {
	line := fair.New(fair.Config{What: "questions", Slots: 2, SlotsPerUser: 2, MaxQueued: 100, MaxQueuedPerUser: 50})
	type got struct {
		user string
		*fair.Slot
	}
	given := make(chan got, 23)
	enter := func(user string) {
		p := join(t, line, user)
		go func() {
			if err := p.Wait(t.Context()); err == nil {
				given <- got{user, p}
			}
		}()
	}
	for range 20 {
		enter("flood")
	}
	for i := range 3 {
		enter(fmt.Sprint("user", i))
	}
	var order []string
	for range 23 {
		synctest.Wait() // until all who have a place have said so
		next := <-given
		order = append(order, next.user)
		next.Release()
	}
	// Two of the flood were there first; after them a free place goes to somebody
	// who has none.
	if others := order[:6]; !slices.Contains(others, "user0") || !slices.Contains(others, "user1") || !slices.Contains(others, "user2") {
		t.Errorf("the order was %v", order)
	}
	if got := line.Stats(); got != (fair.Stats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	line := fair.New(small)
	var alices []*fair.Slot
	for range small.SlotsPerUser + small.MaxQueuedPerUser {
		alices = append(alices, join(t, line, "alice"))
	}
	if _, err := line.Acquire("alice"); !errors.Is(err, storage.ErrTooMany) {
		t.Errorf("one too many of a user: %v", err)
	}
	// The third place is for others.
	bob := join(t, line, "bob")
	if err := bob.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	join(t, line, "carol")
	join(t, line, "carol")
	if _, err := line.Acquire("dave"); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("one too many of all: %v", err)
	}
	late := line.AcquireUnbounded("dave")
	if got, want := line.Stats(), (fair.Stats{Running: 3, Waiting: 6, Refused: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, p := range alices {
		p.Release()
		p.Release()
	}
	if err := late.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	line := fair.New(fair.Config{What: "questions", Slots: 1, SlotsPerUser: 1, MaxQueued: 5, MaxQueuedPerUser: 5})
	first, second, third := join(t, line, "alice"), join(t, line, "alice"), join(t, line, "alice")
	reason := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if err := second.Wait(ctx); !errors.Is(err, reason) {
		t.Errorf("waited: %v", err)
	}
	first.Release()
	if err := third.Wait(t.Context()); err != nil {
		t.Errorf("the next in line: %v", err)
	}
	third.Release()
	if got := line.Stats(); got != (fair.Stats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestWaitingGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := fair.New(fair.Config{What: "parts", Slots: 2, SlotsPerUser: 1, MaxQueued: 5, MaxQueuedPerUser: 5})
		alice := join(t, line, "alice")
		if err := alice.WaitTimeout(t.Context(), time.Minute); err != nil {
			t.Errorf("a place that is one: %v", err)
		}
		if err := join(t, line, "alice").WaitTimeout(t.Context(), time.Minute); !errors.Is(err, storage.ErrTooMany) {
			t.Errorf("who has as many as one may have: %v", err)
		}
		bob := join(t, line, "bob")
		if err := join(t, line, "carol").WaitTimeout(t.Context(), time.Minute); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("who has none: %v", err)
		}
		waits, got := join(t, line, "carol"), make(chan error)
		go func() { got <- waits.WaitTimeout(t.Context(), time.Minute) }()
		synctest.Wait()
		bob.Release()
		if err := <-got; err != nil {
			t.Errorf("whose turn came: %v", err)
		}
		alice.Release()
		waits.Release()
		if got, want := line.Stats(), (fair.Stats{Refused: 2}); got != want {
			t.Errorf("left behind: %+v", got)
		}
	})
}

// TestWeights has a user with large reads wait for their own, while others read.
func TestWeights(t *testing.T) {
	t.Parallel()
	line := fair.New(fair.Config{What: "bytes", Slots: 10, SlotsPerUser: 6, MaxQueued: 5, MaxQueuedPerUser: 2})
	joinFor := func(user string, weight int) *fair.Slot {
		t.Helper()
		p, err := line.AcquireN(user, weight)
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		return p
	}
	waits := func(p *fair.Slot) bool { return p.WaitTimeout(t.Context(), time.Nanosecond) != nil }
	huge := joinFor("alice", 100) // which counts as all of hers
	if got := line.Stats().Running; got != 6 {
		t.Errorf("%d places are taken", got)
	}
	if !waits(joinFor("alice", 1)) {
		t.Error("alice has more than one may have")
	}
	bob := joinFor("bob", 3)
	if err := bob.Wait(t.Context()); err != nil {
		t.Errorf("bob waits for alice: %v", err)
	}
	// Carol needs more than are free. Dave does not wait for her.
	carol, dave := joinFor("carol", 4), joinFor("dave", 1)
	if got := line.Stats(); got.Running != 10 || got.Waiting != 1 {
		t.Errorf("carol waits alone: %+v", got)
	}
	huge.Release()
	for _, p := range []*fair.Slot{carol, dave} {
		if err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, p := range []*fair.Slot{bob, carol, dave} {
		p.Release()
	}
	if got := line.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

// TestFirstAtOnce has users take all places and keep them: others get their first
// request all the same, and only their own keep them waiting.
func TestFirstAtOnce(t *testing.T) {
	t.Parallel()
	line := fair.New(fair.Config{What: "bytes", Slots: 10, SlotsPerUser: 6, MaxQueued: 5, MaxQueuedPerUser: 2, FreeWeight: 1, FirstImmediately: true})
	has := func(p *fair.Slot) bool { return p.WaitTimeout(t.Context(), time.Nanosecond) == nil }
	taken := []*fair.Slot{line.AcquireUnboundedN("alice", 6), line.AcquireUnboundedN("bob", 4)}
	first := line.AcquireUnboundedN("carol", 100)
	if !has(first) {
		t.Error("carol has nothing, and waits for others")
	}
	if got := line.Stats().Running; got != 16 {
		t.Errorf("%d places are taken", got)
	}
	if has(line.AcquireUnboundedN("carol", 2)) || has(line.AcquireUnboundedN("bob", 2)) {
		t.Error("a second request goes past the limits")
	}
	small := line.AcquireUnboundedN("carol", 1)
	if !has(small) || line.Stats().Running != 16 {
		t.Error("a small request waits, or is counted")
	}
	second := line.AcquireUnboundedN("carol", 6)
	first.Release()
	if !has(second) {
		t.Error("carol has nothing again, and waits for others")
	}
	second.Release()
	third := line.AcquireUnboundedN("carol", 6)
	small.Release()
	if has(line.AcquireUnboundedN("carol", 2)) {
		t.Error("what was not counted gave places back")
	}
	for _, p := range append(taken, small, second, third) {
		p.Release()
		p.Release()
	}
	if got := line.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

func BenchmarkJoinLeave(b *testing.B) {
	line := fair.New(fair.Config{What: "questions", Slots: 64, SlotsPerUser: 8, MaxQueued: 2000, MaxQueuedPerUser: 100})
	for i := range 1000 { // who wait
		if _, err := line.Acquire(fmt.Sprint("user", i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		p := line.AcquireUnbounded("alice")
		p.Release()
	}
}

// TestPlaceJustLeft has somebody leave a place who waits for more: others who had none
// come first.
func TestPlaceJustLeft(t *testing.T) {
	t.Parallel()
	line := fair.New(fair.Config{What: "queries", Slots: 1, SlotsPerUser: 1, MaxQueued: 10, MaxQueuedPerUser: 10})
	var places []*fair.Slot
	for _, name := range []string{"alice", "alice", "bob"} {
		place, err := line.Acquire(name)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	places[0].Release()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := places[1].Wait(ended); err == nil {
		t.Error("who had the place before has it again")
	}
	if err := places[2].Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
