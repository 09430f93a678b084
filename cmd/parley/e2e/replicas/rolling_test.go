package replicas

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

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestDrainDelay has a server that is stopped say that it is not ready, and go on
// answering until its time is up or it is told again.
func TestDrainDelay(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil, "--drain-delay", "1h")
	token := p.Token("alice")
	p.Signal(syscall.SIGTERM)
	e2etest.Eventually(t, func() bool {
		status, _ := p.Call("", "GET", "/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	if status, text := p.Call(token, "GET", "/api/v1/schema/datasets/all", ""); status != http.StatusOK {
		t.Errorf("a late request: %d %s", status, text)
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
}

// balancer sends requests to those of a fleet's servers that say that they are
// ready, in turn.
type balancer struct {
	fleet *e2etest.Fleet
	turn  atomic.Int64
	ready []atomic.Bool
}

func (b *balancer) watch(done <-chan struct{}) {
	for {
		for i := range b.ready {
			p := b.fleet.Now[i].Load()
			status, _, err := p.Try("", "GET", "/readyz", http.NoBody)
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
	first := int(b.turn.Add(1))
	for try := range b.ready {
		i := (first + try) % len(b.ready)
		if !b.ready[i].Load() {
			continue
		}
		target, err := url.Parse(b.fleet.Now[i].Load().URL)
		if err != nil {
			b.fleet.T.Error(err)
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
	f := e2etest.StartFleet(t, 2, "--drain-delay", "2s")
	c := e2etest.Client{Process: f.Any(), Token: f.Token}
	if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "apple", "price": 1}, {"item": "pear", "price": 2}}}, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	b := &balancer{fleet: f, ready: make([]atomic.Bool, 2)}
	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { b.watch(done) })
	e2etest.Eventually(t, func() bool { return b.ready[0].Load() && b.ready[1].Load() })
	front := httptest.NewServer(b)
	t.Cleanup(front.Close)

	var asked atomic.Int64
	for range 4 {
		beside.Go(func() {
			through := &e2etest.Process{T: t, URL: front.URL}
			for {
				select {
				case <-done:
					return
				default:
				}
				status, text, err := through.Try(f.Token, "POST", "/api/v1/query/autorag",
					strings.NewReader(`{"username": "self", "namespace": "shop", "query": "Which item has the highest price?"}`))
				if err != nil || status != http.StatusOK || !strings.Contains(text, "pear") {
					t.Errorf("a question failed: %d %s %v", status, text, err)
					return
				}
				asked.Add(1)
				time.Sleep(100 * time.Millisecond) // the machine has other tests to run
			}
		})
	}
	for round := range fulltest.Count(1, 2) {
		for i := range b.ready {
			before := asked.Load()
			e2etest.Eventually(t, func() bool { return t.Failed() || asked.Load() > before+10 })
			p := f.Now[i].Load()
			p.Signal(syscall.SIGTERM)
			if code := p.Wait(); code != e2etest.ExitOK {
				t.Errorf("round %d: exit code %d", round, code)
			}
			f.Start(i)
			e2etest.Eventually(t, func() bool { return b.ready[i].Load() })
		}
	}
	close(done)
	beside.Wait()
	t.Logf("%d questions were answered", asked.Load())
}
