package server

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

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
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
	fulltest.Only(t)
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.NewDataset("shop", "orders")
		text := e2etest.CSV(10)
		c.Ask("POST", "/ingest/new/shop/more", nil, nil)
		c.Ingest("shop/more", c.Upload("more.csv", int64(len(text)), strings.NewReader(text)))
		c.Settled("shop/more")
		run, _ := c.SendMessage("nl2ql", e2etest.Message(`"metadata":{"namespace":"shop"}`))
		names := namesOf(run, "shop")
		getTask := rpcAttempt("", "GetTask", `{"id":"{task}"}`)
		subscribe := rpcAttempt("", "SubscribeToTask", `{"id":"{task}"}`)
		before, all := try(getTask, c, names), events(t, try(withLast(subscribe, "0"), c, names))
		told := try(attempt{Method: "GET", Path: "/query/runs/{task}"}, c, names)
		if len(all) < 4 {
			t.Fatalf("events: %q", all)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
		aged(t, dir, env)

		c.Process = e2etest.Serve(t, dir, env, "--keep-events", "30d")
		e2etest.Eventually(t, func() bool {
			now := c.Metrics()
			return now[`parley_retention_removed_total{what="events"}`] == 1 && now[`parley_retention_removed_total{what="uploads"}`] == 1
		})
		if got := try(getTask, c, names); got != before {
			t.Errorf("the task was\n%s\nand is\n%s", before, got)
		}
		if got := try((attempt{Method: "GET", Path: "/query/runs/{task}"}), c, names); got != told {
			t.Errorf("the run was\n%s\nand is\n%s", told, got)
		}
		if got := events(t, try(withLast(subscribe, "0"), c, names)); len(got) != 1 || !endsInTask(got, before) {
			t.Errorf("from the beginning: %q", got)
		}
		for _, last := range []string{"0", "1", "2"} {
			got := events(t, try(withLast(subscribe, last), c, names))
			after, err := strconv.Atoi(last)
			if err != nil || !slices.Equal(got, all[after:]) && !endsInTask(got, before) {
				t.Errorf("after %s: %q; the task is %s", last, got, before)
			}
		}
		if got := c.Count("shop/more"); got != 10 {
			t.Errorf("%d rows of what was ingested", got)
		}
		if got := c.Ingestions("shop/more"); len(got) != 1 || got[0].Status != "completed" {
			t.Errorf("ingestions: %+v", got)
		}
		c.Signal(syscall.SIGTERM)
		c.Wait()
		aged(t, dir, env)

		c.Process = e2etest.Serve(t, dir, env, "--keep-runs", "30d")
		e2etest.Eventually(t, func() bool { return c.Metrics()[`parley_retention_removed_total{what="ingestions"}`] == 1 })
		if status, _ := c.Call(c.Token, http.MethodGet, "/api/v1/query/runs/"+names["task"], ""); status != http.StatusOK {
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

// events returns the data of a stream's events.
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

// TestOneProcessCleansUp starts three servers on one database in which much is old. One
// of them removes it, and the others leave it at that.
func TestOneProcessCleansUp(t *testing.T) {
	t.Parallel()
	f := e2etest.StartFleet(t, 3, "--keep-events", "30d")
	c := e2etest.Client{Process: f.Now[0].Load(), Token: f.Token}
	c.NewDataset("shop", "orders")
	const asked = 5
	for range asked {
		c.SendMessage("nl2ql", e2etest.Message(`"metadata":{"namespace":"shop"}`))
	}
	for i := range f.Now {
		f.Now[i].Load().Signal(syscall.SIGTERM)
	}
	for i := range f.Now {
		f.Now[i].Load().Wait()
	}
	aged(t, "", f.Env)
	var group sync.WaitGroup
	for i := range f.Now {
		group.Go(func() { f.Start(i) })
	}
	group.Wait()
	sum := func(metric string) (total float64) {
		for i := range f.Now {
			c.Process = f.Now[i].Load()
			total += c.Metrics()[metric]
		}
		return total
	}
	e2etest.Eventually(t, func() bool { return sum(`parley_retention_removed_total{what="events"}`) == asked })
	e2etest.Heartbeats(t, "postgres", f.Cluster.URL(), 1) // every process has looked whether there is something to do
	if turns, removed := sum("parley_retention_turns_total"), sum(`parley_retention_removed_total{what="events"}`); turns != 1 || removed != asked {
		t.Errorf("%v turns, %v runs", turns, removed)
	}
}
