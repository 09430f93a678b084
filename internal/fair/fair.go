// Package fair shares a number of places among users, so that one who wants
// many does not keep the others from theirs: each user has a queue, and a free
// place goes to the user who has the fewest. Something large can take several
// places, such as one for each byte: see JoinFor.
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
	// Places is how many there are, PlacesEach how many one user may have.
	Places, PlacesEach int
	// Waiting is how many may wait for a place, WaitingEach how many of one user.
	Waiting, WaitingEach int
	// Uncounted is the largest request that takes no places and never waits.
	Uncounted int
	// FirstAtOnce gives a user who has no place what they ask for at once, even where
	// too few are free. Then nobody waits longer than the same user's others take,
	// and all users have at most Places and one request each.
	FirstAtOnce bool
}

// Line is where users stand in line for places. It is safe for concurrent use.
type Line struct {
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
	waiting []*Place
}

// New makes a Line.
func New(cfg Config) *Line { return &Line{cfg: cfg, users: map[string]*user{}} }

// Place is a place, or that which waits for one.
type Place struct {
	line *Line
	user *user
	// weight is how many places it takes.
	weight int
	ready  chan struct{} // closed when it is one
	left   bool
}

// Join takes a place for a user, or a place in the user's queue. Where there are
// too many in it, the error is a storage.ErrTooMany; where there are too many of
// all users, a storage.ErrUnavailable.
func (l *Line) Join(name string) (*Place, error) { return l.JoinFor(name, 1) }

// JoinFor is Join for something that takes several places at once: all that a
// user may have where it would take more.
func (l *Line) JoinFor(name string, weight int) (*Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.join(name, weight)
	select {
	case <-p.ready:
		return p, nil
	default:
	}
	kind := error(nil)
	switch {
	case len(p.user.waiting) > l.cfg.WaitingEach:
		kind = storage.ErrTooMany
	case l.stats.Waiting > l.cfg.Waiting:
		kind = storage.ErrUnavailable
	default:
		return p, nil
	}
	p.leave()
	return nil, l.refuse(kind)
}

// refuse counts a refusal, and says whose fault it is that there is no place.
func (l *Line) refuse(kind error) error {
	l.stats.Refused++
	if kind == storage.ErrTooMany {
		return storage.Errorf(kind, "too many %s of yours are waiting; try again when some are done", l.cfg.What)
	}
	return storage.Errorf(kind, "too many %s are waiting; try again shortly", l.cfg.What)
}

// Rejoin is Join for somebody who was let in before, and is not refused.
func (l *Line) Rejoin(name string) *Place { return l.RejoinFor(name, 1) }

// RejoinFor is JoinFor for somebody who was let in before, and is not refused.
func (l *Line) RejoinFor(name string, weight int) *Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.join(name, weight)
}

func (l *Line) join(name string, weight int) *Place {
	if weight <= l.cfg.Uncounted {
		p := &Place{line: l, ready: make(chan struct{}), left: true} // there is nothing to give back
		close(p.ready)
		return p
	}
	u := l.users[name]
	if u == nil {
		u = &user{name: name}
		l.users[name] = u
	}
	p := &Place{line: l, user: u, weight: min(weight, l.cfg.PlacesEach), ready: make(chan struct{})}
	if len(u.waiting) == 0 {
		l.order = append(l.order, u)
	}
	u.waiting = append(u.waiting, p)
	l.stats.Waiting++
	l.next()
	return p
}

func (l *Line) give(p *Place) {
	p.user.running += p.weight
	l.stats.Running += p.weight
	close(p.ready)
}

// Wait waits until the place is one, and gives it up when ctx ends first.
func (p *Place) Wait(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		p.Leave()
		return context.Cause(ctx)
	}
}

// WaitFor is Wait for no longer than patience. Then the place is given up, and
// the error is a storage.ErrTooMany where the user has as many as one may have,
// else a storage.ErrUnavailable.
func (p *Place) WaitFor(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		p.Leave()
		return context.Cause(ctx)
	case <-timer.C:
		return p.giveUp()
	}
}

// giveUp leaves the queue, unless the place is one at the last moment.
func (p *Place) giveUp() error {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-p.ready:
		return nil
	default:
	}
	kind := storage.ErrUnavailable
	if p.user.running+p.weight > l.cfg.PlacesEach {
		kind = storage.ErrTooMany
	}
	p.leave()
	return l.refuse(kind)
}

// Leave gives the place to the next in line. It may be called again.
func (p *Place) Leave() {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.leave()
}

func (p *Place) leave() {
	l := p.line
	if p.left {
		return
	}
	p.left = true
	select {
	case <-p.ready:
		p.user.running -= p.weight
		l.stats.Running -= p.weight
		l.toTheEnd(p.user)
	default:
		l.forget(p)
	}
	l.next()
	if p.user.running == 0 && len(p.user.waiting) == 0 {
		delete(l.users, p.user.name)
	}
}

// forget takes somebody out of the queue.
func (l *Line) forget(p *Place) {
	at := slices.Index(p.user.waiting, p)
	p.user.waiting = slices.Delete(p.user.waiting, at, at+1)
	l.stats.Waiting--
	if len(p.user.waiting) == 0 {
		at := slices.Index(l.order, p.user)
		l.order = slices.Delete(l.order, at, at+1)
	}
}

// next gives free places to the user with the fewest, and of those to the one who
// has waited longest. A user who needs more than are free is passed over.
func (l *Line) next() {
	for l.cfg.FirstAtOnce || l.stats.Running < l.cfg.Places {
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
		l.forget(p)
		l.toTheEnd(p.user)
		l.give(p)
	}
}

// toTheEnd puts a user who waits behind the others who do: whoever had a place just
// now comes after those who had none.
func (l *Line) toTheEnd(u *user) {
	if at := slices.Index(l.order, u); at >= 0 {
		l.order = append(slices.Delete(l.order, at, at+1), u)
	}
}

// fits reports whether a user can have what they have waited for longest.
func (l *Line) fits(u *user) bool {
	weight := u.waiting[0].weight
	return l.cfg.FirstAtOnce && u.running == 0 || u.running+weight <= l.cfg.PlacesEach && l.stats.Running+weight <= l.cfg.Places
}

// Stats says what the line is doing.
func (l *Line) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}
