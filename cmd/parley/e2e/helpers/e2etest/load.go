package e2etest

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Load has clients that stream until all questions are asked.
type Load struct {
	T       testing.TB
	Clients sync.WaitGroup
	Downs   atomic.Int64

	Mu      sync.Mutex
	more    *sync.Cond
	Streams []*Stream
	allowed int
	Waiting map[*Stream]bool
}

// StartLoad starts clients that together stream count answers, as far as Allow permits.
func StartLoad(service *Fallible, count, clients int) *Load {
	l := &Load{T: service.T, Waiting: map[*Stream]bool{}}
	l.more = sync.NewCond(&l.Mu)
	for range clients {
		l.Clients.Go(func() {
			for s := l.next(count); s != nil && service.Read(s); s = l.next(count) {
				l.Mu.Lock()
				delete(l.Waiting, s)
				l.Mu.Unlock()
			}
		})
	}
	return l
}

// next waits for permission and returns a new stream; nil when there are enough.
func (l *Load) next(count int) *Stream {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for len(l.Streams) == l.allowed && l.allowed < count {
		l.more.Wait()
	}
	if len(l.Streams) == count {
		return nil
	}
	s := &Stream{Probe: Questions[len(l.Streams)%len(Questions)], Born: int(l.Downs.Load())}
	l.Streams = append(l.Streams, s)
	l.Waiting[s] = true
	return s
}

// Allow permits a total number of streams.
func (l *Load) Allow(streams int) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.allowed = streams
	l.more.Broadcast()
}
