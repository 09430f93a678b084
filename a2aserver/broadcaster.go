package a2aserver

import (
	"maps"
	"slices"
	"sync"

	"parley/internal/domain"
)

// recentBytes bounds the latest events of a run that are kept in memory for its subscriptions;
// older ones are read from the log.
const recentBytes = 256 << 10

// broadcasters has a broadcaster for each run that this host executes or a client here follows.
type broadcasters struct {
	mu   sync.Mutex
	live map[string]*broadcaster
}

// acquire returns the broadcaster of a run; release it after use.
func (f *broadcasters) acquire(runID string) *broadcaster {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.live[runID]
	if found == nil {
		found = &broadcaster{runID: runID}
		f.live[runID] = found
	}
	found.users++
	return found
}

// reacquire is acquire for a known broadcaster that all others may have released.
func (f *broadcasters) reacquire(left *broadcaster) *broadcaster {
	f.mu.Lock()
	defer f.mu.Unlock()
	left.users++
	if f.live[left.runID] == nil {
		f.live[left.runID] = left
	}
	return left
}

func (f *broadcasters) release(left *broadcaster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left.users--; left.users == 0 && f.live[left.runID] == left {
		delete(f.live, left.runID)
	}
}

func (f *broadcasters) find(runID string) *broadcaster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live[runID]
}

func (f *broadcasters) all() []*broadcaster {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.live))
}

// broadcaster notifies the subscriptions of a run. When this host executes the run, it also has the
// latest committed events. Publishing never blocks.
type broadcaster struct {
	runID string
	users int // under broadcasters.mu

	mu sync.Mutex
	// run executes here; nil when it does not.
	run *run
	// recent are the latest events, the last of them number last.
	recent        []domain.Event
	bytes         int
	last          int64
	ended         bool
	subscriptions map[*runSubscription]struct{}
	// polled is the number of the run's last event at the last poll of the log.
	polled int64
}

// attach sets the run that publishes.
func (f *broadcaster) attach(r *run, last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run, f.last, f.recent, f.bytes = r, last, nil, 0
}

// detach unsets a run that no longer executes here. Unless it has ended, its subscriptions
// continue from the log. One that asked for input may have been resumed already.
func (f *broadcaster) detach(r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.run == r {
		f.run = nil
	}
	f.notifyLocked()
}

// publish adds a committed event. If it does not directly follow the last one, older
// events are dropped from memory; subscriptions read them from the log. Without subscriptions nothing
// is kept.
func (f *broadcaster) publish(event domain.Event, final bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if event.Number <= f.last {
		return
	}
	if event.Number != f.last+1 || len(f.subscriptions) == 0 {
		f.recent, f.bytes = nil, 0
	}
	f.last, f.ended = event.Number, final
	if len(f.subscriptions) == 0 {
		return
	}
	f.recent = append(f.recent, event)
	f.bytes += len(event.Body)
	for f.bytes > recentBytes && len(f.recent) > 1 {
		f.bytes -= len(f.recent[0].Body)
		f.recent[0] = domain.Event{}
		f.recent = f.recent[1:]
	}
	f.notifyLocked()
}

// notify makes the subscriptions read the log.
func (f *broadcaster) notify() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notifyLocked()
}

// notifyLocked is notify with the mutex held.
func (f *broadcaster) notifyLocked() {
	for t := range f.subscriptions {
		select {
		case t.wake <- struct{}{}:
		default:
		}
	}
}

// remoteFollowed reports whether the run has subscriptions here and executes elsewhere.
func (f *broadcaster) remoteFollowed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subscriptions) > 0 && f.run == nil && !f.ended
}

// setPolled sets the number of the last event in the log; -1 when the run does not
// exist.
func (f *broadcaster) setPolled(last int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.polled != last {
		f.polled = last
		f.notifyLocked()
	}
}

// worker returns the run if it executes here.
func (f *broadcaster) worker() *run {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.run
}
