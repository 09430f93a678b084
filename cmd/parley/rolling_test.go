package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestDrainDelay has a server that is stopped say that it is not ready, and go on
// answering until its time is up or it is told again.
func TestDrainDelay(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil, "--drain-delay", "1h")
	token := p.token("alice")
	p.signal(syscall.SIGTERM)
	eventually(t, func() bool {
		status, _ := p.call("", "GET", "/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	if status, text := p.call(token, "GET", "/api/v1/schema/datasets/all", ""); status != http.StatusOK {
		t.Errorf("a late request: %d %s", status, text)
	}
	p.signal(syscall.SIGTERM)
	p.wait()
}

// balancer sends requests to those of a fleet's servers that say that they are
// ready, in turn.
type balancer struct {
	fleet *fleet
	turn  atomic.Int64
	ready []atomic.Bool
}

func (b *balancer) watch(done <-chan struct{}) {
	for {
		for i := range b.ready {
			p := b.fleet.now[i].Load()
			status, _, err := p.try("", "GET", "/readyz", http.NoBody)
			b.ready[i].Store(err == nil && status == http.StatusOK)
		}
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for range b.ready {
		i := int(b.turn.Add(1)) % len(b.ready)
		if !b.ready[i].Load() {
			continue
		}
		target, err := url.Parse(b.fleet.now[i].Load().url)
		if err != nil {
			b.fleet.t.Error(err)
		}
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}).ServeHTTP(w, r)
		return
	}
	http.Error(w, "nobody is ready", http.StatusBadGateway)
}

// TestRollingRestart restarts the servers of a fleet one after another, under
// questions that come through a balancer. None of them fails.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 2, "--drain-delay", "2s")
	c := client{f.any(), f.token}
	if status := c.ask("POST", "/ingest/shop/orders", object{"data": []object{{"item": "apple", "price": 1}, {"item": "pear", "price": 2}}}, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	b := &balancer{fleet: f, ready: make([]atomic.Bool, 2)}
	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { b.watch(done) })
	eventually(t, func() bool { return b.ready[0].Load() && b.ready[1].Load() })
	front := httptest.NewServer(b)
	t.Cleanup(front.Close)

	var asked atomic.Int64
	for range 4 {
		beside.Go(func() {
			through := &process{t: t, url: front.URL}
			for {
				select {
				case <-done:
					return
				default:
				}
				status, text, err := through.try(f.token, "POST", "/api/v1/query/autorag",
					strings.NewReader(`{"username": "self", "namespace": "shop", "query": "Which item has the highest price?"}`))
				if err != nil || status != http.StatusOK || !strings.Contains(text, "pear") {
					t.Errorf("a question failed: %d %s %v", status, text, err)
					return
				}
				asked.Add(1)
			}
		})
	}
	for round := range 2 {
		for i := range b.ready {
			before := asked.Load()
			eventually(t, func() bool { return t.Failed() || asked.Load() > before+10 })
			p := f.now[i].Load()
			p.signal(syscall.SIGTERM)
			if code := p.wait(); code != exitOK {
				t.Errorf("round %d: exit code %d", round, code)
			}
			f.start(i)
			eventually(t, func() bool { return b.ready[i].Load() })
		}
	}
	close(done)
	beside.Wait()
	t.Logf("%d questions were answered", asked.Load())
}
