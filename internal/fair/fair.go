// Package fair shares a number of places among users, so that one who wants
// many does not keep the others from theirs: each user has a queue, and a free
// place goes to the user who has the fewest. Something large can take several
// places, such as one for each byte: see AcquireN.
package fair

import (
	"context"
	"slices"
	"sync"
	"time"

	"parley/storage"
)

// Config says how many places there are, and how many may wait for one.
type Config struct {
	// What is wanted, as a refusal calls it, such as "questions".
	What string
	// Slots is how many there are, SlotsPerUser how many one user may have.
	Slots, SlotsPerUser int
	// MaxQueued is how many may wait for a place, MaxQueuedPerUser how many of one user.
	MaxQueued, MaxQueuedPerUser int
	// FreeWeight is the largest request that takes no places and never waits.
	FreeWeight int
	// FirstImmediately grants the request of a user who holds no slot at once, even when
	// too few are free. A user then waits for their own requests only, and all users
	// together hold at most Slots and one request each.
	FirstImmediately bool
}

// Queue is where users stand in line for places. It is safe for concurrent use.
type Queue struct {
	cfg   Config
	mu    sync.Mutex
	users map[string]*user
	// order are the users who wait, who had a place last at the end.
	order []*user
	stats Stats
}

// Stats is what a line is doing, and how often it refused somebody.
type Stats struct {
	Running, Waiting int
	Refused          int64
}

// user is somebody who has places or waits for some.
type user struct {
	name    string
	running int
	waiting []*Slot
}

// New makes a Queue.
func New(cfg Config) *Queue { return &Queue{cfg: cfg, users: map[string]*user{}} }

// Slot is a place, or that which waits for one.
type Slot struct {
	queue *Queue
	user  *user
	// weight is how many places it takes.
	weight   int
	ready    chan struct{} // closed when it is one
	released bool
}

// Acquire takes a place for a user, or a place in the user's queue. Where there are
// too many in it, the error is a storage.ErrTooMany; where there are too many of
// all users, a storage.ErrUnavailable.
func (l *Queue) Acquire(name string) (*Slot, error) { return l.AcquireN(name, 1) }

// AcquireN is Acquire for a request that takes several slots at once, but no more than
// one user may hold.
func (l *Queue) AcquireN(name string, weight int) (*Slot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.enqueue(name, weight)
	select {
	case <-p.ready:
		return p, nil
	default:
	}
	kind := error(nil)
	switch {
	case len(p.user.waiting) > l.cfg.MaxQueuedPerUser:
		kind = storage.ErrTooMany
	case l.stats.Waiting > l.cfg.MaxQueued:
		kind = storage.ErrUnavailable
	default:
		return p, nil
	}
	p.release()
	return nil, l.refuse(kind)
}

// refuse counts a refusal, and says whose fault it is that there is no place.
func (l *Queue) refuse(kind error) error {
	l.stats.Refused++
	if kind == storage.ErrTooMany {
		return storage.Errorf(kind, "too many %s of yours are waiting; try again when some are done", l.cfg.What)
	}
	return storage.Errorf(kind, "too many %s are waiting; try again shortly", l.cfg.What)
}

// AcquireUnbounded is Acquire for a request that was accepted before: it is never refused.
func (l *Queue) AcquireUnbounded(name string) *Slot { return l.AcquireUnboundedN(name, 1) }

// AcquireUnboundedN is AcquireN for somebody who was let in before, and is not refused.
func (l *Queue) AcquireUnboundedN(name string, weight int) *Slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enqueue(name, weight)
}

func (l *Queue) enqueue(name string, weight int) *Slot {
	if weight <= l.cfg.FreeWeight {
		p := &Slot{queue: l, ready: make(chan struct{}), released: true} // there is nothing to give back
		close(p.ready)
		return p
	}
	u := l.users[name]
	if u == nil {
		u = &user{name: name}
		l.users[name] = u
	}
	p := &Slot{queue: l, user: u, weight: min(weight, l.cfg.SlotsPerUser), ready: make(chan struct{})}
	if len(u.waiting) == 0 {
		l.order = append(l.order, u)
	}
	u.waiting = append(u.waiting, p)
	l.stats.Waiting++
	l.dispatch()
	return p
}

func (l *Queue) grant(p *Slot) {
	p.user.running += p.weight
	l.stats.Running += p.weight
	close(p.ready)
}

// Wait waits until the place is one, and gives it up when ctx ends first.
func (p *Slot) Wait(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		p.Release()
		return context.Cause(ctx)
	}
}

// WaitTimeout is Wait for no longer than patience. Then the place is given up, and
// the error is a storage.ErrTooMany where the user has as many as one may have,
// else a storage.ErrUnavailable.
func (p *Slot) WaitTimeout(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		p.Release()
		return context.Cause(ctx)
	case <-timer.C:
		return p.timeOut()
	}
}

// timeOut leaves the queue, unless the place is one at the last moment.
func (p *Slot) timeOut() error {
	l := p.queue
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.ready:
		return nil
	default:
	}
	kind := storage.ErrUnavailable
	if p.user.running+p.weight > l.cfg.SlotsPerUser {
		kind = storage.ErrTooMany
	}
	p.release()
	return l.refuse(kind)
}

// Release gives the place to the next in line. It may be called again.
func (p *Slot) Release() {
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.release()
}

func (p *Slot) release() {
	l := p.queue
	if p.released {
		return
	}
	p.released = true
	select {
	case <-p.ready:
		p.user.running -= p.weight
		l.stats.Running -= p.weight
		l.moveToBack(p.user)
	default:
		l.dequeue(p)
	}
	l.dispatch()
	if p.user.running == 0 && len(p.user.waiting) == 0 {
		delete(l.users, p.user.name)
	}
}

// dequeue takes somebody out of the queue.
func (l *Queue) dequeue(p *Slot) {
	at := slices.Index(p.user.waiting, p)
	p.user.waiting = slices.Delete(p.user.waiting, at, at+1)
	l.stats.Waiting--
	if len(p.user.waiting) == 0 {
		at := slices.Index(l.order, p.user)
		l.order = slices.Delete(l.order, at, at+1)
	}
}

// dispatch gives free places to the user with the fewest, and of those to the one who
// has waited longest. A user who needs more than are free is passed over.
func (l *Queue) dispatch() {
	for l.cfg.FirstImmediately || l.stats.Running < l.cfg.Slots {
		best := -1
		for i, u := range l.order {
			if l.fits(u) && (best < 0 || u.running < l.order[best].running) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		p := l.order[best].waiting[0]
		l.dequeue(p)
		l.moveToBack(p.user)
		l.grant(p)
	}
}

// moveToBack puts a user who waits behind the others who do: whoever had a place just
// now comes after those who had none.
func (l *Queue) moveToBack(u *user) {
	if at := slices.Index(l.order, u); at >= 0 {
		l.order = append(slices.Delete(l.order, at, at+1), u)
	}
}

// fits reports whether a user can have what they have waited for longest.
func (l *Queue) fits(u *user) bool {
	weight := u.waiting[0].weight
	return l.cfg.FirstImmediately && u.running == 0 || u.running+weight <= l.cfg.SlotsPerUser && l.stats.Running+weight <= l.cfg.Slots
}

// Stats says what the line is doing.
func (l *Queue) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}
