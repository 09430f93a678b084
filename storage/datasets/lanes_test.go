package datasets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/fair"
	"parley/internal/worktime"
)

// simulation runs queries that only take time.
type simulation struct {
	lanes
	// load is how many processes share a processor.
	load time.Duration
	mu   sync.Mutex
	// completed counts the queries of each user that ran to their end.
	completed map[string]int
}

func newSimulation() *simulation {
	meter := queryMeter()
	return &simulation{load: 1, completed: map[string]int{}, lanes: lanes{
		meter: meter,
		usual: fair.New(fair.Config{Slots: 3, SlotsPerUser: 2, MaxQueued: 4096, MaxQueuedPerUser: 128, Usage: meter.usage}),
		short: fair.New(fair.Config{Slots: 1, SlotsPerUser: 1, Usage: meter.usage, RequestUsage: meter.slice}),
	}}
}

// query runs a query as the pool does, and returns the lanes in which it ran. It takes so much
// time of a processor.
func (s *simulation) query(ctx context.Context, user string, takes time.Duration) (ran []string, err error) {
	usual, err := s.usual.Acquire(user)
	if err != nil {
		return nil, err
	}
	err = s.run(ctx, user, usual, nil, func(ctx context.Context, l lane) error {
		defer l.release()
		ran = append(ran, map[bool]string{true: "short", false: "usual"}[l.short])
		start := time.Now()
		processorTime := func() time.Duration { return time.Since(start) / s.load }
		err := s.meter.run(ctx, user, l.short, processorTime, func() {}, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(takes * s.load):
				return nil
			}
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.completed[user]++
		return nil
	})
	return ran, err
}

// flood has users send queries, several at once, until ctx ends. They cancel each query after
// some time.
func (s *simulation) flood(ctx context.Context, users, each int, takes, cancelAfter time.Duration) (wait func()) {
	var group sync.WaitGroup
	for u := range users {
		for range each {
			group.Go(func() {
				for ctx.Err() == nil {
					ctx, cancel := context.WithTimeout(ctx, cancelAfter)
					_, _ = s.query(ctx, fmt.Sprint("long", u), takes)
					cancel()
				}
			})
		}
	}
	return group.Wait
}

var shortSlice = queryMeter().slice

// Whatever others run, a user with short queries waits little, and those with long ones share
// the workers.
func TestShortQueriesAmongLongOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		takes, cancelAfter time.Duration
	}{
		{"long", 30 * time.Second, time.Hour},
		{"medium", 3 * time.Second, time.Hour},
		{"canceled", 3 * time.Second, 1500 * time.Millisecond},
	} {
		for _, users := range []int{1, 2, 3, 10} {
			t.Run(fmt.Sprint(c.name, " of ", users), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := newSimulation()
					ctx, cancel := context.WithCancel(t.Context())
					wait := s.flood(ctx, users, 20, c.takes, c.cancelAfter)
					var took []time.Duration
					for range 1000 {
						start := time.Now()
						if _, err := s.query(ctx, "short", 50*time.Millisecond); err != nil {
							t.Fatal(err)
						}
						took = append(took, time.Since(start))
						time.Sleep(time.Second)
					}
					cancel()
					wait()
					if worst, most := slices.Max(took), shortSlice+50*time.Millisecond; worst > most {
						t.Errorf("a short query took %v, want at most %v", worst, most)
					}
					if c.cancelAfter > c.takes {
						s.checkShares(t, users, int(time.Duration(len(took))*time.Second/c.takes))
					}
					if usual, short := s.usual.Stats(), s.short.Stats(); usual != (fair.Stats{}) || short != (fair.Stats{}) || s.waits() != 0 {
						t.Errorf("left behind: %+v, %+v, %d wait", usual, short, s.waits())
					}
				})
			})
		}
	}
}

// checkShares checks that long queries used all slots that one user, or several, may have, and
// that the users had equal shares. One slot has time for so many queries.
func (s *simulation) checkShares(t *testing.T, users, perSlot int) {
	t.Helper()
	all, least, most := 0, s.completed["long0"], s.completed["long0"]
	for u := range users {
		n := s.completed[fmt.Sprint("long", u)]
		all, least, most = all+n, min(least, n), max(most, n)
	}
	if want := min(2*users, 3) * perSlot; all < want*95/100 {
		t.Errorf("%d long queries were completed, want about %d", all, want)
	}
	if least < most*2/3 {
		t.Errorf("the users completed %v", s.completed)
	}
}

// A user is charged for queries that fail or are canceled too, and more for a short one.
func TestAllQueriesAreCharged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation()
		canceled, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := s.query(canceled, "ann", time.Minute); err == nil {
			t.Error("the query was not canceled")
		}
		if used := s.usage.Of("ann"); used != 300*time.Millisecond {
			t.Errorf("charged %v", used)
		}
		var others []*fair.Slot
		for i := range 3 {
			others = append(others, s.usual.AcquireUnbounded(fmt.Sprint("other", i)))
		}
		canceled, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if ran, err := s.query(canceled, "bob", time.Minute); err == nil || !slices.Equal(ran, []string{"short"}) {
			t.Errorf("ran in %q, %v", ran, err)
		}
		if used := s.usage.Of("bob"); used != wasted*300*time.Millisecond {
			t.Errorf("charged %v for a short query", used)
		}
		// A query that waits for the disk until the timeout.
		err := s.meter.run(t.Context(), "dan", true, func() time.Duration { return 0 }, func() {}, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if used := s.usage.Of("dan"); !errors.Is(err, errLong) || used != wasted*shortSlice {
			t.Errorf("%v, charged %v for a short query that waited", err, used)
		}
		for _, other := range others {
			other.Release()
		}
		failed := errors.New("failed")
		start := time.Now()
		err = s.meter.run(t.Context(), "eve", false, func() time.Duration { return time.Since(start) }, func() {}, func(context.Context) error {
			time.Sleep(2 * shortSlice / 3)
			return failed
		})
		if used := s.usage.Of("eve"); !errors.Is(err, failed) || used != 2*shortSlice/3 {
			t.Errorf("%v, charged %v", err, used)
		}
	})
}

// Queries start among the short ones only if they must wait, and if their user has used little
// lately.
func TestLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation()
		expect := func(what, user string, takes time.Duration, want ...string) {
			t.Helper()
			if ran, err := s.query(t.Context(), user, takes); err != nil || !slices.Equal(ran, want) {
				t.Errorf("%s ran in %q: %v; want %q", what, ran, err, want)
			}
		}
		const long = 61 * time.Second // so that it does not end with one of the flood
		expect("a long query with a free worker", "ann", long, "usual")
		time.Sleep(time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		wait := s.flood(ctx, 3, 4, 30*time.Second, time.Hour)
		synctest.Wait()
		expect("a short query", "ann", shortSlice/2, "short")
		expect("a long query", "ann", long, "short", "usual")
		expect("a short query of another user", "bob", shortSlice/2, "short")
		var eve sync.WaitGroup
		eve.Go(func() { expect("a long query before a short one", "eve", long, "short", "usual") })
		synctest.Wait()
		expect("a short query after a long one", "eve", shortSlice/2, "usual")
		eve.Wait()
		time.Sleep(time.Minute)
		expect("a short query long after a long one", "eve", shortSlice/2, "short")
		ended, end := context.WithTimeoutCause(t.Context(), shortSlice/4, errors.ErrUnsupported)
		defer end()
		if _, err := s.query(ended, "ann", shortSlice/2); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a canceled query: %v", err)
		}
		cancel()
		wait()
	})
}

// The wait for a worker and for a processor does not count for the limit of a query.
func TestWaitDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSimulation()
		s.load = 5
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() { _, _ = s.query(t.Context(), "user", 30*time.Second) })
		}
		synctest.Wait()
		ctx, stop := worktime.WithLimit(t.Context(), 2*time.Second)
		ran, err := s.query(ctx, "user", 900*time.Millisecond)
		if err != nil || !slices.Equal(ran, []string{"short", "usual"}) {
			t.Errorf("%v, %v", ran, err)
		}
		if left := stop(); left < 550*time.Millisecond || left > 600*time.Millisecond {
			t.Errorf("%v are left", left)
		}
		others.Wait()
	})
}

// On a loaded machine queries are as short as on another one. A query that gets no processor
// leaves its slot.
func TestLanesOfALoadedMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		load, takes time.Duration
		ran         []string
		shortTime   time.Duration
	}{
		{"short", 1, 400 * time.Millisecond, []string{"short"}, 400 * time.Millisecond},
		{"short with load", 5, 400 * time.Millisecond, []string{"short"}, 2 * time.Second},
		{"long with load", 5, time.Minute, []string{"short", "usual"}, 5 * shortSlice},
		{"without a processor", 1000, 400 * time.Millisecond, []string{"short", "usual"}, queryMeter().timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSimulation()
				s.load = c.load
				var others []*fair.Slot
				for i := range 3 {
					others = append(others, s.usual.AcquireUnbounded(fmt.Sprint("other", i)))
				}
				start := time.Now()
				var ended sync.WaitGroup
				ended.Go(func() {
					if ran, err := s.query(t.Context(), "ann", c.takes); err != nil || !slices.Equal(ran, c.ran) {
						t.Errorf("ran in %q: %v; want %q", ran, err, c.ran)
					}
				})
				synctest.Wait()
				next := s.short.AcquireUnbounded("next")
				if err := next.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start).Truncate(100 * time.Millisecond); took != c.shortTime {
					t.Errorf("had its slot for %v, want %v", took, c.shortTime)
				}
				for _, other := range others {
					other.Release()
				}
				ended.Wait()
			})
		})
	}
}
