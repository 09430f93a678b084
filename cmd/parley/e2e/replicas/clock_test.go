package replicas

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/auth"
)

// wrongClock is a clock of a process that can be set.
type wrongClock struct {
	t    *testing.T
	path string
}

func newClock(t *testing.T, off string) wrongClock {
	c := wrongClock{t, filepath.Join(t.TempDir(), "clock")}
	c.set(off)
	return c
}

func (c wrongClock) env() string { return e2etest.ClockFile + "=" + c.path }

// set puts the clock off by a duration, at once.
func (c wrongClock) set(off string) {
	c.t.Helper()
	err := os.WriteFile(c.path+".new", []byte(off), 0o600)
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// earlier signs a token of alice's that is good by every clock in these tests.
func earlier(t *testing.T, identity auth.Config) string {
	t.Helper()
	identity.Now = func() time.Time { return time.Now().Add(-2 * time.Hour) }
	token, err := auth.Sign(identity, "alice", 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestClocksDiffer has servers on one database whose clocks are an hour ahead and
// behind, and then jump, while each answers a question. None takes a run from
// another, and files come in on all of them.
func TestClocksDiffer(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	f := e2etest.StartFleet(t, 1)
	f.Token = earlier(t, auth.Config{Secret: []byte(e2etest.FleetSecret)})
	ahead, behind := newClock(t, "1h"), newClock(t, "-1h")
	servers := []e2etest.Client{{Process: f.Now[0].Load(), Token: f.Token}}
	for _, clock := range []wrongClock{ahead, behind} {
		servers = append(servers, e2etest.Client{Process: e2etest.Serve(t, t.TempDir(), append(f.Env, clock.env())), Token: f.Token})
	}
	rows := e2etest.Object{"data": []e2etest.Object{{"item": "apple"}, {"item": "pear"}, {"item": "fig"}}}
	if status := servers[0].Ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	var streams []*e2etest.Stream
	var ends []chan bool
	var letGo []func()
	for _, c := range servers {
		s, ended, free := c.HeldQuestion()
		streams, ends, letGo = append(streams, s), append(ends, ended), append(letGo, free)
	}
	ahead.set("-1h")
	behind.set("1h")
	e2etest.Heartbeats(t, "postgres", f.Cluster.URL(), 2)
	for i, c := range servers {
		letGo[i]()
		if !<-ends[i] || streams[i].Shape() != e2etest.WholeStream || streams[i].Cuts > 0 {
			t.Errorf("server %d: %s, cut %d times", i, streams[i].Shape(), streams[i].Cuts)
		}
		if strings.Contains(c.Log.String(), "run resumed") {
			t.Errorf("server %d took a run", i)
		}
		if status := c.Ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
			t.Errorf("rows at server %d: %d", i, status)
		}
		addFile(c, "shop/files", 10)
	}
	if got := servers[0].Count("shop/orders"); got != 12 {
		t.Errorf("%d orders", got)
	}
}

// TestClockJumps has the clock of a server go an hour ahead in the middle of a
// run, and then two hours back.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		clock, dir := newClock(t, "0s"), t.TempDir()
		p := e2etest.Serve(t, dir, append(env, clock.env(), e2etest.ShortLease))
		key, err := auth.LoadLocalKey(filepath.Join(dir, "parley-data"))
		if err != nil {
			t.Fatal(err)
		}
		c := e2etest.Client{Process: p, Token: earlier(t, auth.Config{LocalKey: key})}
		rows := e2etest.Object{"data": []e2etest.Object{{"item": "apple"}, {"item": "pear"}, {"item": "fig"}}}
		c.Ask("POST", "/ingest/shop/orders", rows, nil)
		driver, source := "sqlite", filepath.Join(dir, "parley-data", "parley.db")
		if env != nil {
			driver, source = "postgres", strings.TrimPrefix(env[0], "PARLEY_DATABASE_URL=")
		}
		for _, off := range []string{"1h", "-1h"} {
			s, ended, letGo := c.HeldQuestion()
			clock.set(off)
			e2etest.Heartbeats(t, driver, source, 1)
			letGo()
			if !<-ended || s.Shape() != e2etest.WholeStream || s.Cuts > 0 {
				t.Errorf("%s: %s, cut %d times", off, s.Shape(), s.Cuts)
			}
			addFile(c, "shop/files", 10)
		}
		if strings.Contains(p.Log.String(), "run resumed") {
			t.Error("a run was taken from the living")
		}
		if got := c.Count("shop/files"); got != 20 {
			t.Errorf("%d rows of files", got)
		}
	})
}

// addFile uploads a file of rows and waits until a dataset has them.
func addFile(c e2etest.Client, dataset string, rows int) {
	c.T.Helper()
	c.Ask("POST", "/ingest/new/"+dataset, nil, nil) // or it is there
	text := e2etest.CSV(rows)
	c.Ingest(dataset, c.Upload("file.csv", int64(len(text)), strings.NewReader(text)))
	for _, got := range c.Settled(dataset) {
		if got.Status != "completed" {
			c.T.Errorf("ingestion: %+v", got)
		}
	}
}
