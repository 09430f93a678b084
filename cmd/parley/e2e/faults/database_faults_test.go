package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// knock is a request that is made while something is away.
type knock struct {
	what, method, path string
	body               any
}

// The requests of people and agents that need the database.
var (
	readKnocks = []knock{
		{"a list", "GET", "/schema/datasets/all", nil},
		{"a query", "POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT count(*) AS n FROM orders"}},
		{"A2A: a list of tasks", "POST", "/a2a/nl2ql", rpc("ListTasks", e2etest.Object{})},
	}
	writeKnocks = []knock{
		{"a token", "POST", "/user/token", e2etest.Object{"name": "n"}},
		{"rows", "POST", "/ingest/shop/more", e2etest.Object{"data": []e2etest.Object{{"item": "plum"}}}},
		{"an upload", "POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "a.csv", "size": 1}}}},
		{"a question", "POST", "/query/autorag", e2etest.Object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}},
		{"a stream", "POST", "/query/ask", e2etest.Object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}},
		{"A2A: a message", "POST", "/a2a/nl2ql", rpc("SendMessage", e2etest.QuestionParams("How many orders are there?"))},
		{"A2A: a stream", "POST", "/a2a/nl2ql", rpc("SendStreamingMessage", e2etest.QuestionParams("How many orders are there?"))},
	}
)

func rpc(method string, params any) e2etest.Object {
	return e2etest.Object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

// send makes the request, and gives up on an answer long after it is due.
func (k knock) send(c e2etest.Client) (status int, header http.Header, text string, err error) {
	ctx, cancel := context.WithTimeout(c.T.Context(), waittest.Limit)
	defer cancel()
	body, err := json.Marshal(k.body)
	if err != nil {
		return 0, nil, "", err
	}
	request, err := http.NewRequestWithContext(ctx, k.method, c.URL+"/api/v1"+k.path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(answer), err
}

// checkRefused sees that requests, all at once, are answered that they are worth
// another try.
func checkRefused(c e2etest.Client, knocks ...knock) {
	c.T.Helper()
	var all sync.WaitGroup
	for _, k := range knocks {
		all.Go(func() {
			status, header, text, err := k.send(c)
			if err != nil || status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(text, "rror") {
				c.T.Errorf("%s: %d %v %s %v", k.what, status, header, text, err)
			}
		})
	}
	all.Wait()
}

// served sees that requests are answered as usual, in the end.
func served(c e2etest.Client, knocks ...knock) {
	c.T.Helper()
	var all sync.WaitGroup
	for _, k := range knocks {
		all.Go(func() {
			for deadline := time.Now().Add(waittest.Limit); ; time.Sleep(20 * time.Millisecond) {
				status, _, text, err := k.send(c)
				if err == nil && status == http.StatusOK && !strings.Contains(text, `"error":`) {
					return
				}
				if time.Now().After(deadline) || err == nil && status != http.StatusServiceUnavailable {
					c.T.Errorf("%s: %d %s %v", k.what, status, text, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// lives sees that the process says of itself that it lives but is of no use.
func lives(c e2etest.Client, ready int) {
	c.T.Helper()
	if status, _ := c.Call("", "GET", "/healthz", ""); status != http.StatusOK {
		c.T.Errorf("health: %d", status)
	}
	if status, _ := c.Call("", "GET", "/readyz", ""); status != ready {
		c.T.Errorf("ready: %d, want %d", status, ready)
	}
}

// shortRequests is a timeout of requests that a test can wait for.
var shortRequests = e2etest.Limits(e2etest.Object{"RequestTimeout": 5 * time.Second})

// orders gives alice three orders on a server with that database.
func orders(t *testing.T, databaseURL string, env ...string) e2etest.Client {
	t.Helper()
	p := e2etest.Serve(t, t.TempDir(), append(env, "PARLEY_DATABASE_URL="+databaseURL))
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	rows := e2etest.Object{"data": []e2etest.Object{{"item": "apple"}, {"item": "pear"}, {"item": "fig"}}}
	if status := c.Ask("POST", "/ingest/shop/orders", rows, nil); status != http.StatusOK {
		t.Fatalf("rows: %d", status)
	}
	return c
}

// TestDatabaseReadOnly has the database go away, and come back as one that takes
// no changes, as one does that follows another. What is there can be read, changes
// are refused and nothing is half done; and all is well when it takes changes
// again.
func TestDatabaseReadOnly(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Private(t)
	c := orders(t, cluster.URL(), e2etest.Limits(e2etest.Object{"RequestTimeout": 10 * time.Second}))
	s, ended, letGo := c.HeldQuestion()
	cluster.Exec("CHECKPOINT")
	cluster.Stop()
	checkRefused(c, slices.Concat(writeKnocks, readKnocks)...)
	lives(c, http.StatusServiceUnavailable)
	cluster.ReadOnly()
	served(c, readKnocks[0], readKnocks[2])
	checkRefused(c, writeKnocks...)
	lives(c, http.StatusOK)
	letGo()
	served(c, readKnocks[1])

	cluster.Promote()
	if !<-ended || s.Shape() != e2etest.WholeStream {
		t.Errorf("the stream: %s", s.Shape())
	}
	served(c, writeKnocks...)
	served(c, readKnocks...)
	if got := c.Count("shop/more"); got != 1 {
		t.Errorf("%d rows, of which one was taken", got)
	}
}

// TestDatabaseSilent has nothing come back from the database, on connections that
// stay open. Whoever asks gets an answer in time; and when it speaks again, be it
// that all comes late or is lost, everything goes on, and the run that was under
// way ends.
func TestDatabaseSilent(t *testing.T) {
	t.Parallel()
	for name, speak := range map[string]func(*wire){"late": (*wire).flow, "lost": (*wire).forget} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, address := wireTo(t, pgtest.Private(t))
			c := orders(t, address, shortRequests, "PARLEY_QUERY_TIMEOUT=5s")
			s, ended, letGo := c.HeldQuestion()
			w.hold()
			letGo()
			checkRefused(c, append(slices.Concat(writeKnocks, readKnocks),
				knock{"A2A: a task", "POST", "/a2a/assistant", rpc("GetTask", e2etest.Object{"id": s.TaskID})},
				knock{"A2A: a task to follow", "POST", "/a2a/assistant", rpc("SubscribeToTask", e2etest.Object{"id": s.TaskID})},
				knock{"A2A: a task to end", "POST", "/a2a/assistant", rpc("CancelTask", e2etest.Object{"id": s.TaskID})})...)
			lives(c, http.StatusServiceUnavailable)

			speak(w)
			served(c, writeKnocks...)
			served(c, readKnocks...)
			if !<-ended || s.Shape() != e2etest.WholeStream {
				t.Errorf("the stream: %s", s.Shape())
			}
			lives(c, http.StatusOK)

			w.hold() // a server can be stopped all the same
			c.Signal(syscall.SIGTERM)
			c.Wait()
		})
	}
}

// TestDatabaseFull has others hold all connections of the database, and then all
// that the server may use kept busy.
func TestDatabaseFull(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	const most = 40
	cluster := pgtest.Private(t, "max_connections=40")
	c := orders(t, cluster.URL(), shortRequests, "PARLEY_QUERY_TIMEOUT=5s")
	letGo := holdConnections(t, cluster.URL(), most)
	checkRefused(c, slices.Concat(writeKnocks, readKnocks)...)
	lives(c, http.StatusServiceUnavailable)
	letGo()
	served(c, writeKnocks...)
	served(c, readKnocks...)

	unlock := lockDatasets(t, cluster.URL())
	var busy []knock
	for range 2 * most { // more than it has connections
		busy = append(busy, readKnocks[0])
	}
	checkRefused(c, busy...)
	unlock()
	served(c, writeKnocks...)
	served(c, readKnocks...)
}

// holdConnections takes every connection that a database has, from whoever had
// it.
func holdConnections(t *testing.T, address string, most int) (letGo func()) {
	t.Helper()
	db, err := sqlx.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(most)
	var held []*sqlx.Conn
	letGo = func() {
		for _, conn := range held {
			_ = conn.Close()
		}
		_ = db.Close()
	}
	t.Cleanup(letGo)
	e2etest.Eventually(t, func() bool {
		conn, err := db.Connx(t.Context())
		var refusal *pq.Error
		switch {
		case err == nil:
			held = append(held, conn)
		case errors.As(err, &refusal) && refusal.Code == "53300":
			_, err = held[0].ExecContext(t.Context(), `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND application_name <> 'holder'`)
			if err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatal(err)
		}
		if err == nil && conn != nil {
			if _, err := conn.ExecContext(t.Context(), "SET application_name = 'holder'"); err != nil {
				t.Fatal(err)
			}
		}
		return len(held) == most
	})
	return letGo
}

// lockDatasets keeps everybody from reading datasets.
func lockDatasets(t *testing.T, address string) (unlock func()) {
	t.Helper()
	db, err := sqlx.Open("postgres", address)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.Beginx()
	if err == nil {
		_, err = tx.Exec("LOCK TABLE datasets, namespaces IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	unlock = func() { _, _ = tx.Rollback(), db.Close() }
	t.Cleanup(unlock)
	return unlock
}
