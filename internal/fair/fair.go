// Package fair shares a number of slots among users, so that a user with many requests does
// not block the others: each user has a queue, and a free slot goes to the user who holds
// the fewest and, of those, has used the least processor time lately. A large request can take
// several slots, such as one for each byte: see [Queue.AcquireN].
package fair

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"parley/internal/domain"
)

// Config says how many slots there are, and how many requests may wait for one.
type Config struct {
	// What names the requests in error messages, such as "questions".
	What string
	// Slots is how many there are, SlotsPerUser how many one user may hold.
	Slots, SlotsPerUser int
	// MaxQueued is how many requests may wait, MaxQueuedPerUser how many of one user. The
	// only request of a user is not refused because others' wait.
	MaxQueued, MaxQueuedPerUser int
	// FreeWeight is the largest request that takes no slots and never waits.
	FreeWeight int
	// FirstImmediately grants the request of a user who holds no slot at once, even when
	// too few are free. A user then waits for their own requests only, and all users
	// together hold at most Slots and one request each.
	FirstImmediately bool
	// Usage orders users who hold as many slots. Without it, the one served longest ago is next.
	Usage *Usage
	// RequestUsage is what each further request that waits of a user counts as used.
	RequestUsage time.Duration
}

// ShortRequests are handled in this process and wait for nothing else. All goroutines share its
// processors equally, so a user with many requests at once would take them from others. The
// first request of a user never waits.
func ShortRequests() Config {
	processors := runtime.GOMAXPROCS(0)
	return Config{What: "requests", Slots: 4 * processors, SlotsPerUser: 2 * processors, MaxQueued: 16384, MaxQueuedPerUser: 1024, FirstImmediately: true}
}

// shortTimeout is how long a short request waits for others of its user.
const shortTimeout = 20 * time.Second

// ShortSlot waits for a slot of a queue of ShortRequests; release may be called twice.
func ShortSlot(ctx context.Context, queue *Queue, user string) (release func(), err error) {
	slot, err := queue.Acquire(user)
	if err != nil {
		return nil, err
	}
	return slot.Release, slot.WaitTimeout(ctx, shortTimeout)
}

// Queue holds the requests that wait for slots. It is safe for concurrent use.
type Queue struct {
	cfg   Config
	mu    sync.Mutex
	users map[string]*user
	// order has the users who wait; the user served last is at the end.
	order []*user
	stats Stats
}

// Stats counts the slots in use, the requests that wait, and those that were refused.
type Stats struct {
	Running, Waiting int
	Refused          int64
}

// user is a user who holds slots or waits for some.
type user struct {
	name    string
	running int
	waiting []*Slot
}

// New makes a Queue.
func New(cfg Config) *Queue { return &Queue{cfg: cfg, users: map[string]*user{}} }

// Slot is a granted request, or one that waits.
type Slot struct {
	queue *Queue
	user  *user
	// weight is how many slots it takes.
	weight   int
	ready    chan struct{} // closed when granted
	released bool
}

// Acquire takes a slot for a user, or queues the request. The error is domain.ErrTooMany
// when too many requests of this user wait, and domain.ErrUnavailable when too many of all
// users do and this is not the only one of this user.
func (q *Queue) Acquire(name string) (*Slot, error) { return q.AcquireN(name, 1) }

// AcquireN is Acquire for a request that takes several slots at once, but no more than
// one user may hold.
func (q *Queue) AcquireN(name string, weight int) (*Slot, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.enqueue(name, weight)
	kind := error(nil)
	switch {
	case s.granted():
		return s, nil
	case len(s.user.waiting) > q.cfg.MaxQueuedPerUser:
		kind = domain.ErrTooMany
	case q.stats.Waiting > q.cfg.MaxQueued && (s.user.running > 0 || len(s.user.waiting) > 1):
		kind = domain.ErrUnavailable
	default:
		return s, nil
	}
	s.release()
	return nil, q.refuse(kind)
}

// refuse counts a refusal and gives its error.
func (q *Queue) refuse(kind error) error {
	q.stats.Refused++
	if kind == domain.ErrTooMany {
		return domain.Errorf(kind, "too many of your %s are waiting; try again later", q.cfg.What)
	}
	return domain.Errorf(kind, "too many %s are waiting; try again shortly", q.cfg.What)
}

// AcquireUnbounded is Acquire for a request that was accepted before: it is never refused.
func (q *Queue) AcquireUnbounded(name string) *Slot { return q.AcquireUnboundedN(name, 1) }

// AcquireUnboundedN is AcquireN for a request that was accepted before: it is never
// refused.
func (q *Queue) AcquireUnboundedN(name string, weight int) *Slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.enqueue(name, weight)
}

func (q *Queue) enqueue(name string, weight int) *Slot {
	if weight <= q.cfg.FreeWeight {
		s := &Slot{queue: q, ready: make(chan struct{}), released: true} // nothing to release
		close(s.ready)
		return s
	}
	u := q.users[name]
	if u == nil {
		u = &user{name: name}
		q.users[name] = u
	}
	s := &Slot{queue: q, user: u, weight: min(weight, q.cfg.SlotsPerUser), ready: make(chan struct{})}
	if len(u.waiting) == 0 {
		q.order = append(q.order, u)
	}
	u.waiting = append(u.waiting, s)
	q.stats.Waiting++
	q.dispatch()
	return s
}

func (s *Slot) granted() bool {
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

// Wait waits until the slot is granted, and releases it when ctx ends first.
func (s *Slot) Wait(ctx context.Context) error { return s.wait(ctx, nil) }

// WaitFirst waits until one of two slots is granted, and returns it, the first if both are.
// The other one stays in its queue. When ctx ends first, it releases both. After a timeout, which
// may be nil, it does too, with the error of [Slot.WaitTimeout] for the first.
func WaitFirst(ctx context.Context, a, b *Slot, timeout <-chan time.Time) (*Slot, error) {
	select {
	case <-a.ready:
	case <-b.ready:
	case <-timeout:
		if err := a.timeOut(); err != nil {
			b.Release()
			return nil, err
		}
	case <-ctx.Done():
		a.Release()
		b.Release()
		return nil, context.Cause(ctx)
	}
	if a.granted() {
		return a, nil
	}
	return b, nil
}

// WaitTimeout is Wait with a timeout, after which the slot is released. The error is then
// domain.ErrTooMany when the user holds as many slots as one may, else
// domain.ErrUnavailable.
func (s *Slot) WaitTimeout(ctx context.Context, timeout time.Duration) error {
	return s.wait(ctx, time.After(timeout))
}

func (s *Slot) wait(ctx context.Context, timeout <-chan time.Time) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		s.Release()
		return context.Cause(ctx)
	case <-timeout:
		return s.timeOut()
	}
}

// timeOut leaves the queue, unless the slot was granted just now.
func (s *Slot) timeOut() error {
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.granted() {
		return nil
	}
	kind := domain.ErrUnavailable
	if s.user.running+s.weight > q.cfg.SlotsPerUser {
		kind = domain.ErrTooMany
	}
	s.release()
	return q.refuse(kind)
}

// Release returns the slot. It may be called more than once.
func (s *Slot) Release() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.release()
}

func (s *Slot) release() {
	q := s.queue
	if s.released {
		return
	}
	s.released = true
	if s.granted() {
		s.user.running -= s.weight
		q.stats.Running -= s.weight
		q.moveToBack(s.user)
	} else {
		q.dequeue(s)
	}
	q.dispatch()
	if s.user.running == 0 && len(s.user.waiting) == 0 {
		delete(q.users, s.user.name)
	}
}

func (q *Queue) dequeue(s *Slot) {
	at := slices.Index(s.user.waiting, s)
	s.user.waiting = slices.Delete(s.user.waiting, at, at+1)
	q.stats.Waiting--
	if len(s.user.waiting) == 0 {
		at := slices.Index(q.order, s.user)
		q.order = slices.Delete(q.order, at, at+1)
	}
}

// dispatch grants free slots to the user who holds the fewest, among those to the one who has
// used the least lately, and then to the one served longest ago. A user who needs more than are
// free is skipped.
func (q *Queue) dispatch() {
	for q.cfg.FirstImmediately || q.stats.Running < q.cfg.Slots {
		var best *user
		var bestUsed time.Duration
		for _, u := range q.order {
			if !q.fits(u) || best != nil && u.running > best.running {
				continue
			}
			var used time.Duration
			if q.cfg.Usage != nil {
				used = q.cfg.Usage.Of(u.name) + time.Duration(len(u.waiting)-1)*q.cfg.RequestUsage
			}
			if best == nil || u.running < best.running || used < bestUsed {
				best, bestUsed = u, used
			}
		}
		if best == nil {
			return
		}
		s := best.waiting[0]
		q.dequeue(s)
		q.moveToBack(s.user)
		s.user.running += s.weight
		q.stats.Running += s.weight
		close(s.ready)
	}
}

// moveToBack puts a waiting user behind the other waiting users.
func (q *Queue) moveToBack(u *user) {
	if at := slices.Index(q.order, u); at >= 0 {
		q.order = append(slices.Delete(q.order, at, at+1), u)
	}
}

// fits reports whether the user's first waiting request can be granted.
func (q *Queue) fits(u *user) bool {
	weight := u.waiting[0].weight
	return q.cfg.FirstImmediately && u.running == 0 || u.running+weight <= q.cfg.SlotsPerUser && q.stats.Running+weight <= q.cfg.Slots
}

// Stats returns the current counts.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}
