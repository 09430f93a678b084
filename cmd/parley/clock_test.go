package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/auth"
)

// clockFile names the file that says by how much a process's clock is off.
const clockFile = "RUN_WITH_CLOCK"

// setClock gives the program a clock that is as wrong as the file says, at any
// time.
func setClock() {
	path := os.Getenv(clockFile)
	if path == "" {
		return
	}
	now = func() time.Time {
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		off, err := time.ParseDuration(string(text))
		if err != nil {
			panic(err)
		}
		return time.Now().Round(0).Add(off)
	}
}

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

func (c wrongClock) env() string { return clockFile + "=" + c.path }

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

// heartbeats waits until every host has shown that it lives, so many times.
func heartbeats(t *testing.T, driver, source string, count int) {
	t.Helper()
	db, err := sqlx.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	type lease struct {
		Name  string `db:"name"`
		Until int64  `db:"expires_at"`
	}
	last, beats := map[string]int64{}, map[string]int{}
	eventually(t, func() bool {
		var leases []lease
		if err := db.Select(&leases, `SELECT name, expires_at FROM leases WHERE name LIKE 'host/%'`); err != nil {
			t.Fatal(err)
		}
		all := len(leases) > 0
		for _, l := range leases {
			if was, seen := last[l.Name]; seen && was != l.Until {
				beats[l.Name]++
			}
			last[l.Name] = l.Until
			all = all && beats[l.Name] >= count
		}
		return all
	})
}

// TestClocksDiffer has servers on one database whose clocks are an hour ahead and
// behind, and then jump, while each answers a question. None takes a run from
// another, and files come in on all of them.
func TestClocksDiffer(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 1)
	f.token = earlier(t, auth.Config{Secret: []byte(fleetSecret)})
	ahead, behind := newClock(t, "1h"), newClock(t, "-1h")
	servers := []client{{f.now[0].Load(), f.token}}
	for _, clock := range []wrongClock{ahead, behind} {
		servers = append(servers, client{serve(t, t.TempDir(), append(f.env, clock.env())), f.token})
	}
	rows := object{"data": []object{{"item": "apple"}, {"item": "pear"}, {"item": "fig"}}}
	if status := servers[0].ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	var streams []*stream
	var ends []chan bool
	var letGo []func()
	for _, c := range servers {
		s, ended, free := c.heldQuestion()
		streams, ends, letGo = append(streams, s), append(ends, ended), append(letGo, free)
	}
	ahead.set("-1h")
	behind.set("1h")
	heartbeats(t, "postgres", f.cluster.URL(), 2)
	for i, c := range servers {
		letGo[i]()
		if !<-ends[i] || streams[i].shape() != wholeStream || streams[i].cuts > 0 {
			t.Errorf("server %d: %s, cut %d times", i, streams[i].shape(), streams[i].cuts)
		}
		if strings.Contains(c.log.String(), "a run is taken up") {
			t.Errorf("server %d took a run", i)
		}
		if status := c.ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
			t.Errorf("rows at server %d: %d", i, status)
		}
		c.addFile("shop/files", 10)
	}
	if got := servers[0].count("shop/orders"); got != 12 {
		t.Errorf("%d orders", got)
	}
}

// TestClockJumps has the clock of a server go an hour ahead in the middle of a
// run, and then two hours back.
func TestClockJumps(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		clock, dir := newClock(t, "0s"), t.TempDir()
		p := serve(t, dir, append(env, clock.env()))
		key, err := auth.LoadLocalKey(filepath.Join(dir, "parley-data"))
		if err != nil {
			t.Fatal(err)
		}
		c := client{p, earlier(t, auth.Config{LocalKey: key})}
		rows := object{"data": []object{{"item": "apple"}, {"item": "pear"}, {"item": "fig"}}}
		c.ask("POST", "/ingest/shop/orders", rows, nil)
		driver, source := "sqlite", filepath.Join(dir, "parley-data", "parley.db")
		if env != nil {
			driver, source = "postgres", strings.TrimPrefix(env[0], "PARLEY_DATABASE_URL=")
		}
		for _, off := range []string{"1h", "-1h"} {
			s, ended, letGo := c.heldQuestion()
			clock.set(off)
			heartbeats(t, driver, source, 1)
			letGo()
			if !<-ended || s.shape() != wholeStream || s.cuts > 0 {
				t.Errorf("%s: %s, cut %d times", off, s.shape(), s.cuts)
			}
			c.addFile("shop/files", 10)
		}
		if strings.Contains(p.log.String(), "a run is taken up") {
			t.Error("a run was taken from the living")
		}
		if got := c.count("shop/files"); got != 20 {
			t.Errorf("%d rows of files", got)
		}
	})
}

// addFile uploads a file of rows and waits until a dataset has them.
func (c client) addFile(dataset string, rows int) {
	c.t.Helper()
	c.ask("POST", "/ingest/new/"+dataset, nil, nil) // or it is there
	text := csv(rows)
	c.ingest(dataset, c.upload("file.csv", int64(len(text)), strings.NewReader(text)))
	for _, got := range c.settled(dataset) {
		if got.Status != "completed" {
			c.t.Errorf("ingestion: %+v", got)
		}
	}
}
