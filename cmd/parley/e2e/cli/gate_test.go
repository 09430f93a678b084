package cli

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// gate stands between a client and a server. It notes the parts that were stored,
// and can keep requests from getting through.
type gate struct {
	url string

	mu     sync.Mutex
	target *url.URL
	stored []int
	held   int
	// stop says of a request whether it is held until drop, when it is broken off.
	stop func(r *http.Request) bool
	free chan struct{}
	// seen is told of each request before it is passed on.
	seen func(r *http.Request)
}

func newGate(t *testing.T, target string) *gate {
	t.Helper()
	g := &gate{stop: func(*http.Request) bool { return false }, seen: func(*http.Request) {}, free: make(chan struct{})}
	g.aim(t, target)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	t.Cleanup(g.drop)
	g.url = server.URL
	return g
}

// aim has the gate lead to another server.
func (g *gate) aim(t *testing.T, target string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.target = &url.URL{Scheme: u.Scheme, Host: u.Host}
}

// part returns the number of the part that a request brings, 0 when it brings none.
func part(r *http.Request) int {
	number, _ := strconv.Atoi(r.URL.Query().Get("partNumber"))
	if r.Method != http.MethodPut {
		return 0
	}
	return number
}

// holdAllPartsBut lets only one part through.
func (g *gate) holdAllPartsBut(number int) {
	g.hold(func(r *http.Request) bool { return part(r) > 0 && part(r) != number })
}

func (g *gate) hold(stop func(r *http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop, g.free, g.held = stop, make(chan struct{}), 0
}

// watch has each request looked at before it is passed on.
func (g *gate) watch(seen func(r *http.Request)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen = seen
}

// drop breaks off what is held, and holds nothing any more.
func (g *gate) drop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop = func(*http.Request) bool { return false }
	select {
	case <-g.free:
	default:
		close(g.free)
	}
}

// now returns the parts that were stored, in order, and how many requests are held.
func (g *gate) now() (stored []int, held int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	stored = slices.Sorted(slices.Values(g.stored))
	return stored, g.held
}

// forget forgets the parts that were stored.
func (g *gate) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stored = nil
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	stop, free, target, seen := g.stop(r), g.free, g.target, g.seen
	if stop {
		g.held++
	}
	g.mu.Unlock()
	seen(r)
	if stop {
		<-free
		panic(http.ErrAbortHandler)
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = p.In.Host // addresses are signed for it, or made of it
		},
		ModifyResponse: func(answer *http.Response) error {
			if number := part(r); number > 0 && answer.StatusCode == http.StatusOK {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.stored = append(g.stored, number)
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	proxy.ServeHTTP(w, r)
}

// isAttempts reports whether a request asks how far ingestions are.
func isAttempts(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/ingest/attempts") }
