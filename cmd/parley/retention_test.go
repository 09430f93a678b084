package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"
)

// aged makes what a stopped server keeps a year older, but for runs, whose ids say
// when they were asked, and tidying up due.
func aged(t *testing.T, dir string, env []string) {
	t.Helper()
	driver, source := "sqlite", dir+"/parley-data/parley.db"
	if env != nil {
		driver, source = "postgres", strings.TrimPrefix(env[0], "PARLEY_DATABASE_URL=")
	}
	db, err := sqlx.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		`UPDATE tasks SET updated_at = updated_at - 31536000000`,
		`UPDATE upload_sessions SET created_at = created_at - 31536000000, updated_at = updated_at - 31536000000`,
		`UPDATE ingestions SET created_at = created_at - 31536000000, updated_at = updated_at - 31536000000`,
		`UPDATE leases SET expires_at = 0`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestRetention ages what a server keeps and starts it anew: events are trimmed
// and uploads removed, and whoever reads loses nothing without being told.
func TestRetention(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := serve(t, dir, env)
		c := client{p, p.token("alice")}
		c.newDataset("shop", "orders")
		text := csv(10)
		c.ask("POST", "/ingest/new/shop/more", nil, nil)
		c.ingest("shop/more", c.upload("more.csv", int64(len(text)), strings.NewReader(text)))
		c.settled("shop/more")
		run, _ := c.sendMessage("nl2ql", message(`"metadata":{"namespace":"shop"}`))
		names := run.names("shop")
		getTask := rpcAttempt("", "GetTask", `{"id":"{task}"}`)
		subscribe := rpcAttempt("", "SubscribeToTask", `{"id":"{task}"}`)
		before, all := getTask.try(c, names), events(t, withLast(subscribe, "0").try(c, names))
		told := attempt{method: "GET", path: "/query/runs/{task}"}.try(c, names)
		if len(all) < 4 {
			t.Fatalf("events: %q", all)
		}
		p.signal(syscall.SIGTERM)
		p.wait()
		aged(t, dir, env)

		c.process = serve(t, dir, env, "--keep-events", "30d")
		eventually(t, func() bool {
			now := c.metrics()
			return now[`parley_retention_removed_total{what="events"}`] == 1 && now[`parley_retention_removed_total{what="uploads"}`] == 1
		})
		if got := getTask.try(c, names); got != before {
			t.Errorf("the task was\n%s\nand is\n%s", before, got)
		}
		if got := (attempt{method: "GET", path: "/query/runs/{task}"}).try(c, names); got != told {
			t.Errorf("the run was\n%s\nand is\n%s", told, got)
		}
		if got := events(t, withLast(subscribe, "0").try(c, names)); len(got) != 1 || !endsInTask(got, before) {
			t.Errorf("from the beginning: %q", got)
		}
		for _, last := range []string{"0", "1", "2"} {
			got := events(t, withLast(subscribe, last).try(c, names))
			after, err := strconv.Atoi(last)
			if err != nil || !slices.Equal(got, all[after:]) && !endsInTask(got, before) {
				t.Errorf("after %s: %q; the task is %s", last, got, before)
			}
		}
		if got := c.count("shop/more"); got != 10 {
			t.Errorf("%d rows of what was ingested", got)
		}
		if got := c.ingestions("shop/more"); len(got) != 1 || got[0].Status != "completed" {
			t.Errorf("ingestions: %+v", got)
		}
		c.signal(syscall.SIGTERM)
		c.wait()
		aged(t, dir, env)

		c.process = serve(t, dir, env, "--keep-runs", "30d")
		eventually(t, func() bool { return c.metrics()[`parley_retention_removed_total{what="ingestions"}`] == 1 })
		if status, _ := c.call(c.token, http.MethodGet, "/api/v1/query/runs/"+names["task"], ""); status != http.StatusOK {
			t.Errorf("a run that was asked just now: %d", status)
		}
	})
}

// endsInTask reports whether the last event is the task as GetTask gave it.
func endsInTask(events []string, task string) bool {
	var last struct {
		Result struct{ Task json.RawMessage }
	}
	err := json.Unmarshal([]byte(events[len(events)-1]), &last)
	return err == nil && len(last.Result.Task) > 0 && strings.Contains(task, string(last.Result.Task))
}

// events gives the data of a stream's events.
func events(t *testing.T, stream string) (data []string) {
	t.Helper()
	for line := range strings.Lines(stream) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			data = append(data, text)
		}
	}
	if len(data) == 0 {
		t.Fatalf("no events in %q", stream)
	}
	return data
}

// TestOneJanitor starts three servers on one database in which much is old. One
// of them removes it, and the others leave it at that.
func TestOneJanitor(t *testing.T) {
	t.Parallel()
	f := startFleet(t, 3, "--keep-events", "30d")
	c := client{f.now[0].Load(), f.token}
	c.newDataset("shop", "orders")
	const asked = 5
	for range asked {
		c.sendMessage("nl2ql", message(`"metadata":{"namespace":"shop"}`))
	}
	for i := range f.now {
		f.now[i].Load().signal(syscall.SIGTERM)
	}
	for i := range f.now {
		f.now[i].Load().wait()
	}
	aged(t, "", f.env)
	var group sync.WaitGroup
	for i := range f.now {
		group.Go(func() { f.start(i) })
	}
	group.Wait()
	sum := func(metric string) (total float64) {
		for i := range f.now {
			c.process = f.now[i].Load()
			total += c.metrics()[metric]
		}
		return total
	}
	eventually(t, func() bool { return sum(`parley_retention_removed_total{what="events"}`) == asked })
	heartbeats(t, "postgres", f.cluster.URL(), 1) // every process has looked whether there is something to do
	if turns, removed := sum("parley_retention_turns_total"), sum(`parley_retention_removed_total{what="events"}`); turns != 1 || removed != asked {
		t.Errorf("%v turns, %v runs", turns, removed)
	}
}
