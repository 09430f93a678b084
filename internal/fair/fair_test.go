package fair_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
)

// acquire takes a slot, or queues.
func acquire(t *testing.T, queue *fair.Queue, user string) *fair.Slot {
	t.Helper()
	p, err := queue.Acquire(user)
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
	queue := fair.New(fair.Config{What: "questions", Slots: 2, SlotsPerUser: 2, MaxQueued: 100, MaxQueuedPerUser: 50})
	type got struct {
		user string
		*fair.Slot
	}
	given := make(chan got, 23)
	enter := func(user string) {
		p := acquire(t, queue, user)
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
		synctest.Wait() // until all who hold a slot have said so
		next := <-given
		order = append(order, next.user)
		next.Release()
	}
	// Two of the flood were there first; after them a free slot goes to somebody
	// who has none.
	if others := order[:6]; !slices.Contains(others, "user0") || !slices.Contains(others, "user1") || !slices.Contains(others, "user2") {
		t.Errorf("the order was %v", order)
	}
	if got := queue.Stats(); got != (fair.Stats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	queue := fair.New(small)
	var alices []*fair.Slot
	for range small.SlotsPerUser + small.MaxQueuedPerUser {
		alices = append(alices, acquire(t, queue, "alice"))
	}
	if _, err := queue.Acquire("alice"); !errors.Is(err, domain.ErrTooMany) {
		t.Errorf("one too many of a user: %v", err)
	}
	// The third slot is for others.
	bob := acquire(t, queue, "bob")
	if err := bob.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	acquire(t, queue, "carol")
	acquire(t, queue, "carol")
	only := acquire(t, queue, "dave") // the only one of a user is never too many
	if _, err := queue.Acquire("dave"); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("one too many of all: %v", err)
	}
	late := queue.AcquireUnbounded("dave")
	if got, want := queue.Stats(), (fair.Stats{Running: 3, Waiting: 7, Refused: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, p := range append(alices, only) {
		p.Release()
		p.Release()
	}
	if err := late.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	queue := fair.New(fair.Config{What: "questions", Slots: 1, SlotsPerUser: 1, MaxQueued: 5, MaxQueuedPerUser: 5})
	first, second, third := acquire(t, queue, "alice"), acquire(t, queue, "alice"), acquire(t, queue, "alice")
	reason := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if err := second.Wait(ctx); !errors.Is(err, reason) {
		t.Errorf("waited: %v", err)
	}
	first.Release()
	if err := third.Wait(t.Context()); err != nil {
		t.Errorf("the next in the queue: %v", err)
	}
	third.Release()
	if got := queue.Stats(); got != (fair.Stats{}) {
		t.Errorf("left behind: %+v", got)
	}
}

func TestWaitingGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := fair.New(fair.Config{What: "parts", Slots: 2, SlotsPerUser: 1, MaxQueued: 5, MaxQueuedPerUser: 5})
		alice := acquire(t, queue, "alice")
		if err := alice.WaitTimeout(t.Context(), time.Minute); err != nil {
			t.Errorf("a granted slot: %v", err)
		}
		if err := acquire(t, queue, "alice").WaitTimeout(t.Context(), time.Minute); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("who has as many as one may have: %v", err)
		}
		bob := acquire(t, queue, "bob")
		if err := acquire(t, queue, "carol").WaitTimeout(t.Context(), time.Minute); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("who has none: %v", err)
		}
		waits, got := acquire(t, queue, "carol"), make(chan error)
		go func() { got <- waits.WaitTimeout(t.Context(), time.Minute) }()
		synctest.Wait()
		bob.Release()
		if err := <-got; err != nil {
			t.Errorf("granted while waiting: %v", err)
		}
		alice.Release()
		waits.Release()
		if got, want := queue.Stats(), (fair.Stats{Refused: 2}); got != want {
			t.Errorf("left behind: %+v", got)
		}
	})
}

// TestWeights has a user with large reads wait for their own, while others read.
func TestWeights(t *testing.T) {
	t.Parallel()
	queue := fair.New(fair.Config{What: "bytes", Slots: 10, SlotsPerUser: 6, MaxQueued: 5, MaxQueuedPerUser: 2})
	joinFor := func(user string, weight int) *fair.Slot {
		t.Helper()
		p, err := queue.AcquireN(user, weight)
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		return p
	}
	waits := func(p *fair.Slot) bool { return p.WaitTimeout(t.Context(), time.Nanosecond) != nil }
	huge := joinFor("alice", 100) // which counts as all of hers
	if got := queue.Stats().Running; got != 6 {
		t.Errorf("%d slots are in use", got)
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
	if got := queue.Stats(); got.Running != 10 || got.Waiting != 1 {
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
	if got := queue.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

// TestFirstAtOnce has users take all places and keep them: others get their first
// request all the same, and only their own keep them waiting.
func TestFirstAtOnce(t *testing.T) {
	t.Parallel()
	queue := fair.New(fair.Config{What: "bytes", Slots: 10, SlotsPerUser: 6, MaxQueued: 5, MaxQueuedPerUser: 2, FreeWeight: 1, FirstImmediately: true})
	has := func(p *fair.Slot) bool { return p.WaitTimeout(t.Context(), time.Nanosecond) == nil }
	taken := []*fair.Slot{queue.AcquireUnboundedN("alice", 6), queue.AcquireUnboundedN("bob", 4)}
	first := queue.AcquireUnboundedN("carol", 100)
	if !has(first) {
		t.Error("carol has nothing, and waits for others")
	}
	if got := queue.Stats().Running; got != 16 {
		t.Errorf("%d slots are in use", got)
	}
	if has(queue.AcquireUnboundedN("carol", 2)) || has(queue.AcquireUnboundedN("bob", 2)) {
		t.Error("a second request goes past the limits")
	}
	small := queue.AcquireUnboundedN("carol", 1)
	if !has(small) || queue.Stats().Running != 16 {
		t.Error("a small request waits, or is counted")
	}
	second := queue.AcquireUnboundedN("carol", 6)
	first.Release()
	if !has(second) {
		t.Error("carol has nothing again, and waits for others")
	}
	second.Release()
	third := queue.AcquireUnboundedN("carol", 6)
	small.Release()
	if has(queue.AcquireUnboundedN("carol", 2)) {
		t.Error("what was not counted gave places back")
	}
	for _, p := range append(taken, small, second, third) {
		p.Release()
		p.Release()
	}
	if got := queue.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

func BenchmarkJoinLeave(b *testing.B) {
	queue := fair.New(fair.Config{What: "questions", Slots: 64, SlotsPerUser: 8, MaxQueued: 2000, MaxQueuedPerUser: 100})
	for i := range 1000 { // who wait
		if _, err := queue.Acquire(fmt.Sprint("user", i)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		p := queue.AcquireUnbounded("alice")
		p.Release()
	}
}

// TestPlaceJustLeft has somebody leave a place who waits for more: others who had none
// come first.
func TestPlaceJustLeft(t *testing.T) {
	t.Parallel()
	queue := fair.New(fair.Config{What: "queries", Slots: 1, SlotsPerUser: 1, MaxQueued: 10, MaxQueuedPerUser: 10})
	var places []*fair.Slot
	for _, name := range []string{"alice", "alice", "bob"} {
		place, err := queue.Acquire(name)
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

// TestLeastUsedFirst has ten users send several requests at once, for which they were charged
// before: one who has used less is next, though they came last.
func TestLeastUsedFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		usage := fair.NewUsage(10 * time.Second)
		queue := fair.New(fair.Config{What: "queries", Slots: 1, SlotsPerUser: 1, MaxQueued: 100, MaxQueuedPerUser: 10, Usage: usage})
		var others []*fair.Slot
		for i := range 10 {
			user := fmt.Sprint("user", i)
			usage.Add(user, time.Second+time.Duration(i)*time.Millisecond)
			for range 4 {
				others = append(others, acquire(t, queue, user))
			}
		}
		usage.Add("light", 20*time.Millisecond)
		light := acquire(t, queue, "light")
		others[0].Release()
		if err := light.WaitTimeout(t.Context(), 0); err != nil {
			t.Error(err)
		}
		light.Release()
		// Then the one who has used the least of the others.
		if err := others[1].WaitTimeout(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
}

// TestUsage has an amount decay, and nothing left of users who are gone.
func TestUsage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		usage := fair.NewUsage(time.Minute)
		usage.Add("ann", 8*time.Second)
		time.Sleep(time.Minute)
		usage.Add("ann", 4*time.Second)
		usage.Add("bob", 6*time.Second)
		time.Sleep(time.Minute)
		if ann, bob, none := usage.Of("ann"), usage.Of("bob"), usage.Of("eve"); ann != 4*time.Second || bob != 3*time.Second || none != 0 {
			t.Errorf("used %v, %v, %v", ann, bob, none)
		}
		if got := usage.Heavy(4 * time.Second); !slices.Equal(got, []string{"ann"}) {
			t.Errorf("%q used 4 s", got)
		}
		usage.Add("eve", time.Minute)
		if got := usage.Heavy(3 * time.Second); !slices.Equal(got, []string{"eve"}) || usage.IsHeavy("ann", 3*time.Second) {
			t.Errorf("%q are heavy beside eve", got)
		}
		for i := range 10_000 {
			usage.Add(fmt.Sprint("user", i), time.Second)
			time.Sleep(time.Second)
		}
		// A second is below a millisecond after ten minutes.
		if got := len(usage.Heavy(0)); got > 2*600+64 {
			t.Errorf("%d users are kept", got)
		}
	})
}

// TestFewRequestsFirst has users who have used nothing send several requests at once: who sends
// one is next, though they have used a little.
func TestFewRequestsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		usage := fair.NewUsage(10 * time.Second)
		queue := fair.New(fair.Config{What: "queries", Slots: 1, SlotsPerUser: 1, MaxQueued: 100, MaxQueuedPerUser: 10, Usage: usage, RequestUsage: time.Second})
		running := acquire(t, queue, "other")
		for i := range 10 {
			for range 2 {
				acquire(t, queue, fmt.Sprint("user", i))
			}
		}
		usage.Add("light", 900*time.Millisecond)
		light := acquire(t, queue, "light")
		running.Release()
		if err := light.WaitTimeout(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
}
