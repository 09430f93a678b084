package a2aserver

import (
	"sync"

	"parley/storage"
)

// recentBytes is how much of a run's latest events is kept in memory for those who
// follow it; what is older they read from the log.
const recentBytes = 256 << 10

// feeds are the runs that somebody here works on or follows.
type feeds struct {
	mu   sync.Mutex
	live map[string]*feed
}

// acquire gives the feed of a run, to be left again.
func (f *feeds) acquire(runID string) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.live[runID]
	if found == nil {
		found = &feed{runID: runID}
		f.live[runID] = found
	}
	found.users++
	return found
}

// reacquire joins a feed that may have been left by all others.
func (f *feeds) reacquire(left *feed) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	left.users++
	if f.live[left.runID] == nil {
		f.live[left.runID] = left
	}
	return left
}

func (f *feeds) release(left *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left.users--; left.users == 0 && f.live[left.runID] == left {
		delete(f.live, left.runID)
	}
}

// find gives the feed of a run if it has one.
func (f *feeds) find(runID string) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[runID]
}

func (f *feeds) all() []*feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]*feed, 0, len(f.live))
	for _, each := range f.live {
		all = append(all, each)
	}
	return all
}

// feed wakes those who follow a run. Where the run is worked on here, it also
// has its latest events, committed ones only; nobody waits for anybody.
type feed struct {
	runID string
	users int // under feeds.mu

	mu sync.Mutex
	// run is what works on the run here; nil when nobody does.
	run *run
	// fromMemory are the latest events, the last of them number last.
	recent []storage.Event
	bytes  int
	last   int64
	ended  bool
	tails  map[*feedTail]struct{}
	// polled is the number of the run's last event when the log was last looked at
	// for all.
	polled int64
}

// attach makes a run the one that publishes.
func (f *feed) attach(r *run, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run, f.last, f.recent, f.bytes = r, last, nil, 0
}

// detach says that the run is no longer worked on here. Unless it has ended,
// its tails read on from the log.
func (f *feed) detach() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = nil
	f.notifyLocked()
}

// publish shows an event that is committed. One that does not follow the last
// one is all there is in memory: those before it are in the log. Where nobody
// follows, nothing is kept.
func (f *feed) publish(event storage.Event, final bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if event.Number <= f.last {
		return
	}
	if event.Number != f.last+1 || len(f.tails) == 0 {
		f.recent, f.bytes = nil, 0
	}
	f.last, f.ended = event.Number, final
	if len(f.tails) == 0 {
		return
	}
	f.recent = append(f.recent, event)
	f.bytes += len(event.Body)
	for f.bytes > recentBytes && len(f.recent) > 1 {
		f.bytes -= len(f.recent[0].Body)
		f.recent[0] = storage.Event{}
		f.recent = f.recent[1:]
	}
	f.notifyLocked()
}

// notify has the tails look at the log.
func (f *feed) notify() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notifyLocked()
}

// notifyLocked is called with the mutex held.
func (f *feed) notifyLocked() {
	for t := range f.tails {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// remoteFollowed reports whether somebody here follows a run that nobody here works on.
func (f *feed) remoteFollowed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.tails) > 0 && f.run == nil && !f.ended
}

// setPolled is told the number of the last event in the log; -1 when the run is not
// there.
func (f *feed) setPolled(last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.polled != last {
		f.polled = last
		f.notifyLocked()
	}
}

// worker gives what works on the run here.
func (f *feed) worker() *run {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.run
}
