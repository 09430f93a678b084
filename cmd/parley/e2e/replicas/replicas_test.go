package replicas

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// kill ends one of the servers by chance, and starts another in its place.
func kill(r *e2etest.Fleet) {
	i := rand.IntN(len(r.Now))
	p := r.Now[i].Load()
	p.Signal(syscall.SIGKILL)
	p.Wait()
	r.Start(i)
}

// TestReplicas has clients stream answers from three servers on one database and
// bucket, that are killed one after another, while rows come in and answers are
// rated, and the database goes down and comes back. In the end nothing is lost,
// and nothing is there twice.
func TestReplicas(t *testing.T) {
	t.Parallel()
	kills, runs := fulltest.Count(2, 4), fulltest.Count(50, 200)
	r := e2etest.StartFleet(t, 3)
	c := e2etest.Client{Process: r.Any(), Token: r.Token}
	text := e2etest.CSV(2_000)
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	if got := c.Settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	service := &e2etest.Fallible{T: t, Token: r.Token, Where: r.Any, Due: make(chan struct{}, 1)}
	want := map[e2etest.Probe]string{}
	for _, q := range e2etest.Questions {
		s := &e2etest.Stream{Probe: q}
		if !service.Read(s) {
			t.Fatalf("%+v: %+v", q, s)
		}
		want[q] = s.Scrubbed()
	}

	load := e2etest.StartLoad(service, runs, 48)
	writer, stop := startWriter(r), make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { writer.write(stop) })
	rated := map[string]bool{}
	for down := range kills {
		// Fewer events than the new runs have, which is more than seven a run.
		if !service.AwaitEvents(load, runs*(down+1)/kills, 1+rand.Int64N(int64(5*runs/kills))) {
			break
		}
		kill(r)
		if down == kills/2 {
			r.Cluster.Stop()
			r.Cluster.Start()
		}
		rate(r, ended(load), rated)
	}
	load.Clients.Wait()
	close(stop)
	beside.Wait()
	if t.Failed() {
		return
	}
	rate(r, ended(load), rated)
	cut, cuts := 0, 0
	for _, s := range load.Streams {
		if diff := cmp.Diff(want[s.Probe], s.Scrubbed()); diff != "" {
			t.Errorf("task %s, cut off %d times (- want, + got):\n%s", s.TaskID, s.Cuts, diff)
		}
		c.Process = r.Any()
		service.Check(c, s)
		cuts += s.Cuts
		if s.Cuts > 0 {
			cut++
		}
	}
	c.Process = r.Any()
	c.CheckAllEnded(len(load.Streams) + len(e2etest.Questions))
	checkRatings(r, rated)
	writer.check(c)
	taken := checkTakeovers(r, kills)
	t.Logf("%d runs, %d kills, %d streams cut off %d times, %d takeovers, %d ratings, %d batches of rows",
		runs, kills, cut, cuts, taken, len(rated), len(writer.kept))
}

// persist sends a request to any server until one of them answers that it is
// done, or that it cannot be.
func persist(r *e2etest.Fleet, method, path, body string) int {
	r.T.Helper()
	for deadline := time.Now().Add(waittest.Limit); ; time.Sleep(5 * time.Millisecond) {
		status, text, err := r.Any().Try(r.Token, method, "/api/v1"+path, strings.NewReader(body))
		switch {
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			if status >= http.StatusInternalServerError {
				r.T.Errorf("%s %s: %d %s", method, path, status, text)
			}
			return status
		case time.Now().After(deadline):
			r.T.Errorf("%s %s: no answer: %d %s %v", method, path, status, text, err)
			return status
		}
	}
}

// rate rates every fourth run that was not rated before.
func rate(r *e2etest.Fleet, runs []string, rated map[string]bool) {
	r.T.Helper()
	for i, id := range runs {
		if _, done := rated[id]; done || i%4 != 0 {
			continue
		}
		rated[id] = i%8 == 0
		if status := persist(r, "POST", "/query/runs/"+id+"/feedback", fmt.Sprintf(`{"thumbsUp": %t}`, rated[id])); status != http.StatusNoContent {
			r.T.Errorf("rate %s: %d", id, status)
		}
	}
}

func checkRatings(r *e2etest.Fleet, rated map[string]bool) {
	r.T.Helper()
	db, err := sqlx.Open("postgres", r.Cluster.URL())
	if err != nil {
		r.T.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var rows []struct {
		RunID    string `db:"run_id"`
		ThumbsUp bool   `db:"thumbs_up"`
	}
	if err := db.SelectContext(r.T.Context(), &rows, "SELECT run_id, thumbs_up FROM ratings"); err != nil {
		r.T.Fatal(err)
	}
	kept := map[string]bool{}
	for _, row := range rows {
		kept[row.RunID] = row.ThumbsUp
	}
	if !maps.Equal(kept, rated) {
		r.T.Errorf("%d ratings were kept, %d were given, or they differ", len(kept), len(rated))
	}
}

// checkTakeovers reads in the logs who took up which run: no two have taken up
// the same one at the same time. It gives how many were taken up.
func checkTakeovers(r *e2etest.Fleet, kills int) int {
	r.T.Helper()
	// A host that released a run may claim it again, and so may the next one after a kill, if the run
	// only waited: these count as no takeovers.
	seen, released := map[string]int{}, map[string]int{}
	for _, log := range r.Logs {
		for line := range strings.Lines(log.String()) {
			if _, after, found := strings.Cut(line, `msg="run resumed" `); found {
				seen[strings.TrimSpace(after)]++ // run=… agent=… takeovers=…
			} else if _, after, found := strings.Cut(line, `msg="orphaned run released" `); found {
				released[strings.Fields(after)[0]]++ // run=…
			}
		}
	}
	for what, times := range seen {
		if times > 1+kills+released[strings.Fields(what)[0]] {
			r.T.Errorf("taken up %d times: %s", times, what)
		}
	}
	return len(seen)
}

// writer adds rows to a dataset, each batch once.
type writer struct {
	*e2etest.Fleet
	// kept are the batches that were answered; the others may be there or not.
	kept  []int
	tried int
}

func startWriter(r *e2etest.Fleet) *writer { return &writer{Fleet: r} }

const batchRows = 5

func (w *writer) write(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		w.tried++
		var rows []string
		for i := range batchRows {
			rows = append(rows, fmt.Sprintf(`{"batch": %d, "row": %d}`, w.tried, i))
		}
		status, text, err := w.Any().Try(w.Token, "POST", "/api/v1/ingest/shop/log", strings.NewReader(`{"data": [`+strings.Join(rows, ",")+`]}`))
		switch {
		case err == nil && status == http.StatusOK:
			w.kept = append(w.kept, w.tried)
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			w.T.Errorf("rows: %d %s", status, text)
			return
		}
		time.Sleep(20 * time.Millisecond) // so that compaction does not fall behind
	}
}

// check sees that every batch that was answered is there, whole and once, and
// the others whole or not at all.
func (w *writer) check(c e2etest.Client) {
	w.T.Helper()
	var answer struct {
		Data []struct{ Batch, Rows int }
	}
	status := c.Ask("POST", "/query", e2etest.Object{
		"username": "self", "namespace": "shop", "query": "SELECT batch, count(*) AS rows FROM log GROUP BY batch ORDER BY batch LIMIT 1000",
	}, &answer)
	if status != http.StatusOK {
		w.T.Fatalf("%d", status)
	}
	var found []int
	for _, batch := range answer.Data {
		if batch.Rows != batchRows {
			w.T.Errorf("batch %d has %d rows", batch.Batch, batch.Rows)
		}
		found = append(found, batch.Batch)
	}
	for _, batch := range w.kept {
		if _, ok := slices.BinarySearch(found, batch); !ok && len(found) < 1000 {
			w.T.Errorf("batch %d is lost", batch)
		}
	}
}

// ended returns the streams that have their last event.
func ended(l *e2etest.Load) []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	var ids []string
	for _, s := range l.Streams {
		if !l.Waiting[s] {
			ids = append(ids, s.TaskID)
		}
	}
	return ids
}
