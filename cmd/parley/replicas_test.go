package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/pgtest"
	"parley/internal/s3test"
)

// fleet is several servers on one database and one bucket.
type fleet struct {
	t       testing.TB
	cluster *pgtest.Cluster
	env     []string
	args    []string
	dirs    []string
	now     []atomic.Pointer[process]
	token   string

	mu   sync.Mutex
	logs []*syncBuffer
}

// fleetSecret signs the tokens of a fleet.
const fleetSecret = "a shared secret, known to all the servers of a fleet"

// startFleet starts so many servers.
func startFleet(t *testing.T, count int, args ...string) *fleet {
	t.Helper()
	cluster := pgtest.Private(t)
	endpoint, access, secret := s3test.Server(t)
	r := &fleet{t: t, cluster: cluster, args: args, now: make([]atomic.Pointer[process], count), env: []string{
		"PARLEY_DATABASE_URL=" + cluster.URL(),
		"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
		"PARLEY_AUTH_SECRET=" + fleetSecret,
	}}
	for i := range count {
		r.dirs = append(r.dirs, t.TempDir())
		r.start(i)
	}
	r.token = r.any().token("alice")
	return r
}

// start starts a server, or one in the place of one that has ended.
func (r *fleet) start(i int) {
	r.t.Helper()
	p := serve(r.t, r.dirs[i], r.env, r.args...)
	r.mu.Lock()
	r.logs = append(r.logs, p.log)
	r.mu.Unlock()
	r.now[i].Store(p)
}

// any gives one of the servers, by chance.
func (r *fleet) any() *process { return r.now[rand.IntN(len(r.now))].Load() }

// kill ends one of the servers by chance, and starts another in its place.
func (r *fleet) kill() {
	i := rand.IntN(len(r.now))
	p := r.now[i].Load()
	p.signal(syscall.SIGKILL)
	p.wait()
	r.start(i)
}

// TestReplicas has clients stream answers from three servers on one database and
// bucket, that are killed one after another, while rows come in and answers are
// rated, and the database goes down and comes back. In the end nothing is lost,
// and nothing is there twice. PARLEY_TEST_RUNS says how many runs.
func TestReplicas(t *testing.T) {
	t.Parallel()
	runs := envNumber("PARLEY_TEST_RUNS", 200)
	kills := max(4, runs/100)
	r := startFleet(t, 3)
	c := client{r.any(), r.token}
	text := csv(2_000)
	c.ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.ingest("shop/orders", c.upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	if got := c.settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	service := &fallible{t: t, token: r.token, where: r.any, due: make(chan struct{}, 1)}
	want := map[probe]string{}
	for _, q := range questions {
		s := &stream{probe: q}
		if !service.read(s) {
			t.Fatalf("%+v: %+v", q, s)
		}
		want[q] = s.scrubbed()
	}

	load := startLoad(service, runs, 48)
	load.allow(runs)
	writer, stop := startWriter(r), make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { writer.write(stop) })
	rated := map[string]bool{}
	for down := range kills {
		// All together fewer than there will be, which is more than seven a run.
		if !service.awaitEvents(1 + rand.Int64N(int64(5*runs/kills))) {
			break
		}
		r.kill()
		if down == kills/2 {
			r.cluster.Stop()
			r.cluster.Start()
		}
		r.rate(load.ended(), rated)
	}
	load.clients.Wait()
	close(stop)
	beside.Wait()
	if t.Failed() {
		return
	}
	r.rate(load.ended(), rated)
	cut, cuts := 0, 0
	for _, s := range load.streams {
		if got := s.scrubbed(); got != want[s.probe] {
			t.Errorf("task %s, cut off %d times:\n%s\nwant\n%s", s.taskID, s.cuts, got, want[s.probe])
		}
		c.process = r.any()
		service.check(c, s)
		cuts += s.cuts
		if s.cuts > 0 {
			cut++
		}
	}
	c.process = r.any()
	c.checkAllEnded(len(load.streams) + len(questions))
	r.checkRatings(rated)
	writer.check(c)
	taken := r.checkTakeovers()
	t.Logf("%d runs, %d kills, %d streams cut off %d times, %d takeovers, %d ratings, %d batches of rows",
		runs, kills, cut, cuts, taken, len(rated), len(writer.kept))
}

// ended gives the streams that have their last event.
func (l *load) ended() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []string
	for _, s := range l.streams {
		if !l.waiting[s] {
			ids = append(ids, s.taskID)
		}
	}
	return ids
}

// persist sends a request to any server until one of them answers that it is
// done, or that it cannot be.
func (r *fleet) persist(method, path, body string) int {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		status, text, err := r.any().try(r.token, method, "/api/v1"+path, strings.NewReader(body))
		switch {
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			if status >= http.StatusInternalServerError {
				r.t.Errorf("%s %s: %d %s", method, path, status, text)
			}
			return status
		case time.Now().After(deadline):
			r.t.Errorf("%s %s: no answer: %d %s %v", method, path, status, text, err)
			return status
		}
	}
}

// rate rates every fourth run that was not rated before.
func (r *fleet) rate(runs []string, rated map[string]bool) {
	r.t.Helper()
	for i, id := range runs {
		if _, done := rated[id]; done || i%4 != 0 {
			continue
		}
		rated[id] = i%8 == 0
		if status := r.persist("POST", "/query/runs/"+id+"/feedback", fmt.Sprintf(`{"thumbsUp": %t}`, rated[id])); status != http.StatusNoContent {
			r.t.Errorf("rate %s: %d", id, status)
		}
	}
}

func (r *fleet) checkRatings(rated map[string]bool) {
	r.t.Helper()
	db, err := sqlx.Open("postgres", r.cluster.URL())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var rows []struct {
		RunID    string `db:"run_id"`
		ThumbsUp bool   `db:"thumbs_up"`
	}
	if err := db.SelectContext(r.t.Context(), &rows, "SELECT run_id, thumbs_up FROM ratings"); err != nil {
		r.t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, row := range rows {
		kept[row.RunID] = row.ThumbsUp
	}
	if !maps.Equal(kept, rated) {
		r.t.Errorf("%d ratings were kept, %d were given, or they differ", len(kept), len(rated))
	}
}

// checkTakeovers reads in the logs who took up which run: no two have taken up
// the same one at the same time. It gives how many were taken up.
func (r *fleet) checkTakeovers() int {
	r.t.Helper()
	seen := map[string]bool{}
	for _, log := range r.logs {
		for line := range strings.Lines(log.String()) {
			_, after, found := strings.Cut(line, `msg="a run is taken up" `)
			if !found {
				continue
			}
			// run=… agent=… takeovers=…
			if what := strings.TrimSpace(after); seen[what] {
				r.t.Errorf("taken up twice: %s", what)
			} else {
				seen[what] = true
			}
		}
	}
	return len(seen)
}

// writer adds rows to a dataset, each batch once.
type writer struct {
	*fleet
	// kept are the batches that were answered; the others may be there or not.
	kept  []int
	tried int
}

func startWriter(r *fleet) *writer { return &writer{fleet: r} }

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
		status, text, err := w.any().try(w.token, "POST", "/api/v1/ingest/shop/log", strings.NewReader(`{"data": [`+strings.Join(rows, ",")+`]}`))
		switch {
		case err == nil && status == http.StatusOK:
			w.kept = append(w.kept, w.tried)
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			w.t.Errorf("rows: %d %s", status, text)
			return
		}
		time.Sleep(20 * time.Millisecond) // so that compaction does not fall behind
	}
}

// check sees that every batch that was answered is there, whole and once, and
// the others whole or not at all.
func (w *writer) check(c client) {
	w.t.Helper()
	var answer struct {
		Data []struct{ Batch, Rows int }
	}
	status := c.ask("POST", "/query", object{
		"username": "self", "namespace": "shop", "query": "SELECT batch, count(*) AS rows FROM log GROUP BY batch ORDER BY batch LIMIT 1000",
	}, &answer)
	if status != http.StatusOK {
		w.t.Fatalf("%d", status)
	}
	var found []int
	for _, batch := range answer.Data {
		if batch.Rows != batchRows {
			w.t.Errorf("batch %d has %d rows", batch.Batch, batch.Rows)
		}
		found = append(found, batch.Batch)
	}
	for _, batch := range w.kept {
		if _, ok := slices.BinarySearch(found, batch); !ok && len(found) < 1000 {
			w.t.Errorf("batch %d is lost", batch)
		}
	}
}
