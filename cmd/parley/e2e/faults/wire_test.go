package faults

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/pgtest"
)

// wire stands between a server and what it needs, and can fall silent: nothing
// breaks then, and nothing comes through, also on new connections. What was held
// up comes through when it flows again.
type wire struct {
	t        testing.TB
	listener net.Listener
	dial     func() (net.Conn, error)

	mu    sync.Mutex
	flows sync.Cond
	held  bool
	open  map[net.Conn]bool
}

func newWire(t testing.TB, network, address string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, listener: listener, open: map[net.Conn]bool{}}
	w.dial = func() (net.Conn, error) { return net.Dial(network, address) }
	w.flows.L = &w.mu
	t.Cleanup(w.cut)
	go w.accept()
	return w
}

// wireTo returns a wire to a cluster, and the URL of its database through it.
func wireTo(t testing.TB, cluster *pgtest.Cluster) (*wire, string) {
	t.Helper()
	w := newWire(t, "unix", cluster.Socket())
	u, err := url.Parse(cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	u.Host, u.RawQuery = w.listener.Addr().String(), "sslmode=disable"
	return w, u.String()
}

// hold has the wire fall silent.
func (w *wire) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = true
}

// flow has it carry again.
func (w *wire) flow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = false
	w.flows.Broadcast()
}

// forget has it carry again what comes from now on: all connections break, and
// what was held up is lost.
func (w *wire) forget() {
	w.mu.Lock()
	for conn := range w.open {
		_ = conn.Close()
	}
	w.mu.Unlock()
	w.flow()
}

// cut ends it.
func (w *wire) cut() {
	_ = w.listener.Close()
	w.forget()
}

// await returns when the wire flows.
func (w *wire) await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.held {
		w.flows.Wait()
	}
}

func (w *wire) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.carry(conn)
	}
}

// carry joins a connection with the other end.
func (w *wire) carry(near net.Conn) {
	defer w.end(near)
	w.begin(near)
	w.await()
	far, err := w.dial()
	if err != nil {
		return
	}
	defer w.end(far)
	w.begin(far)
	var ways sync.WaitGroup
	ways.Go(func() { w.copy(far, near) })
	ways.Go(func() { w.copy(near, far) })
	ways.Wait()
}

func (w *wire) begin(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[conn] = true
}

func (w *wire) end(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, conn)
	_ = conn.Close()
}

func (w *wire) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		w.await()
		if n > 0 {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
