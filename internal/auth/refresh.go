package auth

import (
	"math/rand/v2"
	"time"
)

const (
	refreshEvery = time.Hour
	minBackoff   = time.Second
	maxBackoff   = time.Minute
)

// run keeps the keys fresh until the provider is closed.
func (p *provider) run() {
	defer close(p.stopped)
	backoff := minBackoff
	for {
		wait := backoff
		fetched := p.refresh()
		if fetched {
			wait, backoff = refreshEvery, minBackoff
		}
		timer := time.NewTimer(jitter(wait))
		select {
		case <-p.life.Done():
			timer.Stop()
			return
		case <-timer.C:
			// Only here: however often requests ask, that lengthens no wait.
			if !fetched {
				backoff = min(2*backoff, maxBackoff)
			}
		case <-p.wake:
			timer.Stop()
		}
	}
}

// refresh fetches the keys once and tells those who wait. When it fails the old
// keys stay.
func (p *provider) refresh() bool {
	p.begin()
	keys, err := p.fetch(p.life)

	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		if p.failed != nil || p.fetched.Load() == nil {
			p.log.Info("identity provider's keys fetched", "keys", keys.size)
		}
		p.fetched.Store(keys)
	case p.life.Err() == nil:
		p.log.Warn("identity provider's keys not refreshed", "error", err, "kept", p.fetched.Load() != nil)
	}
	p.failed = err
	close(p.pending)
	p.pending = nil
	return err == nil
}

// begin lets requests from now on wait for this refresh.
func (p *provider) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending == nil {
		p.pending = make(chan struct{})
	}
	select {
	case <-p.wake:
	default:
	}
}

// jitter shortens a wait by up to a tenth, so that replicas started together do
// not ask together for ever.
func jitter(d time.Duration) time.Duration {
	return d - rand.N(d/10)
}
