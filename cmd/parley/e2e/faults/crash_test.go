package faults

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// crashes is how often, and how, a server goes down under how many streams.
type crashes struct {
	signal           syscall.Signal
	downs            int
	streams, clients int
	// args make the server go down in the middle of things.
	args []string
}

// TestCrash has clients stream answers from a server that goes down again and
// again. Whoever was cut off comes back with the last event's id. In the end
// everybody has the whole of their streams, nothing twice, and no run is left.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sqlite, postgres crashes }{
		"killed": {
			sqlite: crashes{signal: syscall.SIGKILL, downs: fulltest.Count(4, 8), streams: fulltest.Count(120, 500), clients: 50},
			// A dead process is only known by its silence, which takes its time.
			postgres: crashes{signal: syscall.SIGKILL, downs: 2, streams: fulltest.Count(40, 150), clients: 32},
		},
		"stopped": {
			sqlite:   crashes{signal: syscall.SIGTERM, downs: fulltest.Count(2, 4), streams: fulltest.Count(40, 150), clients: 32, args: []string{"--drain-timeout", "50ms"}},
			postgres: crashes{signal: syscall.SIGTERM, downs: fulltest.Count(2, 4), streams: fulltest.Count(40, 150), clients: 32, args: []string{"--drain-timeout", "50ms"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e2etest.EachDatabase(t, func(t *testing.T, env []string) {
				if env == nil {
					testCrash(t, env, test.sqlite)
				} else {
					testCrash(t, append(env, e2etest.ShortLease), test.postgres)
				}
			})
		})
	}
}

func testCrash(t *testing.T, env []string, how crashes) {
	if e2etest.RaceDetector {
		how.streams, how.downs, how.clients = how.streams/2, how.downs/2, how.clients/2
	}
	dir := t.TempDir()
	args := append([]string{"--log-level", "warn"}, how.args...)
	p := e2etest.Serve(t, dir, env, args...)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	text := e2etest.CSV(2_000)
	c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	if got := c.Settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	var now atomic.Pointer[e2etest.Process]
	now.Store(p)
	service := &e2etest.Fallible{T: t, Token: c.Token, Where: now.Load, Due: make(chan struct{}, 1)}
	// What each question gives when nothing is in the way.
	want := map[e2etest.Probe]string{}
	for _, q := range e2etest.Questions {
		s := &e2etest.Stream{Probe: q}
		if !service.Read(s) || s.Cuts != 0 {
			t.Fatalf("%+v: %+v", q, s)
		}
		want[q] = s.Scrubbed()
		if got := s.Shape(); got != q.Shape || strings.Contains(want[q], `"answered":false`) {
			t.Fatalf("%s gave %s\n%s", q.Text, got, want[q])
		}
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	load := e2etest.StartLoad(service, how.streams, how.clients)
	for down := range how.downs {
		await(load, down, service)
		if !service.AwaitEvents(load, how.streams*(down+1)/how.downs, 1+random.Int64N(int64(2*how.streams/how.downs))) {
			break
		}
		load.Downs.Add(1)
		p.Signal(how.signal)
		if code := p.Wait(); how.signal == syscall.SIGTERM && code != e2etest.ExitOK {
			t.Errorf("exit code %d", code)
		}
		p = e2etest.Serve(t, dir, env, args...)
		now.Store(p)
	}
	load.Allow(how.streams)
	load.Clients.Wait()
	if t.Failed() {
		return
	}
	c.Process = p
	cut, cuts := 0, 0
	for _, s := range load.Streams {
		if diff := cmp.Diff(want[s.Probe], s.Scrubbed()); diff != "" {
			t.Errorf("task %s, cut off %d times (- want, + got):\n%s", s.TaskID, s.Cuts, diff)
		}
		service.Check(c, s)
		cuts += s.Cuts
		if s.Cuts > 0 {
			cut++
		}
	}
	t.Logf("%d of %d streams were cut off in the middle, %d times in all", cut, len(load.Streams), cuts)
	if cut < how.downs {
		t.Errorf("only %d of %d streams were cut off", cut, len(load.Streams))
	}
	c.CheckAllEnded(len(load.Streams) + len(e2etest.Questions))
}

// await waits until no stream is left from before the last time but one that the
// server was down, and no run of which nobody heard: one that too many servers
// die of is given up.
func await(l *e2etest.Load, downs int, service *e2etest.Fallible) {
	e2etest.Eventually(l.T, func() bool {
		waiting, stale := count(l, downs-1)
		return l.T.Failed() || stale == 0 && service.OpenRuns() <= waiting
	})
}

// count returns how many streams have not ended, and how many of them are from
// before a time that the server was down.
func count(l *e2etest.Load, born int) (waiting, stale int) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	for s := range l.Waiting {
		if s.Born < born {
			stale++
		}
	}
	return len(l.Waiting), stale
}
