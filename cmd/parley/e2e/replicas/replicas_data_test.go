package replicas

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// replicas are what several servers share: a database, a bucket behind a proxy
// that counts, and a secret that signs tokens.
type replicas struct {
	t        *testing.T
	database string
	bucket   string
	env      []string

	mu   sync.Mutex
	gets map[string]int
	// stall, unless nil, says which requests of the bucket get no answer.
	stall func(*http.Request) bool
}

func newReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{t: t, database: pgtest.URL(t), bucket: s3test.Bucket(t), gets: map[string]int{}}
	endpoint, access, secret := s3test.Server(t)
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		if q.Method != http.MethodHead {
			r.gets[q.Method+" "+filepath.Base(q.URL.Path)]++
		}
		stalled := r.stall != nil && r.stall(q)
		r.mu.Unlock()
		if stalled {
			<-q.Context().Done()
			return
		}
		forward.ServeHTTP(w, q)
	}))
	t.Cleanup(proxy.Close)
	r.env = []string{
		"PARLEY_DATABASE_URL=" + r.database, "PARLEY_MIGRATE=true",
		"PARLEY_AUTH_SECRET=" + strings.Repeat("s", 32),
		"PARLEY_OBJECTS=s3://" + r.bucket + "/parley?endpoint=" + proxy.URL + "&region=" + s3test.Region + "&path_style=true",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
	}
	return r
}

// start starts a server with a data folder of its own.
func (r *replicas) start(dir string, env ...string) e2etest.Client {
	r.t.Helper()
	p := e2etest.Serve(r.t, dir, append(r.env, env...))
	return e2etest.Client{Process: p, Token: p.Token("alice")}
}

// fetched returns how often the files of datasets were, each.
func (r *replicas) fetched() (files, times int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, n := range r.gets {
		if strings.HasPrefix(what, "GET ") && strings.HasSuffix(what, ".parquet") {
			files++
			times += n
		}
	}
	return files, times
}

// metric reads one of a server's metrics.
func metric(c e2etest.Client, name string) float64 {
	c.T.Helper()
	_, text := c.Call(c.Token, "GET", "/metrics", "")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				c.T.Fatal(err)
			}
			return n
		}
	}
	c.T.Fatalf("no metric %s", name)
	return 0
}

// fill makes datasets shop/d0, shop/d1, … of some rows each.
func fill(c e2etest.Client, datasets, rows int) {
	c.T.Helper()
	for i := range datasets {
		var data []e2etest.Object
		for n := range rows {
			data = append(data, e2etest.Object{"id": n, "text": fmt.Sprint("row ", n, " of ", i)})
		}
		c.Ask("POST", fmt.Sprint("/ingest/new/shop/d", i), nil, nil)
		if status := c.Ask("POST", fmt.Sprint("/ingest/shop/d", i), e2etest.Object{"data": data}, nil); status != http.StatusOK {
			c.T.Fatalf("append: %d", status)
		}
	}
}

func cachedFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "parley-data", "cache", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCachedDatasets queries what another server has stored: each file is
// fetched once however many ask, those alone that a query names, and checked
// again by the next process.
func TestCachedDatasets(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	other := r.start(t.TempDir())
	fill(other, 4, 100)
	dir := t.TempDir()
	c := r.start(dir)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if got := c.Count("shop/d1"); got != 100 {
				t.Errorf("%d rows", got)
			}
		})
	}
	group.Wait()
	if files, times := r.fetched(); files != 1 || times != 1 {
		t.Errorf("%d files of datasets were fetched %d times, for one that was asked for", files, times)
	}
	if got := c.Count("shop/d2 JOIN d3 USING (id)"); got != 100 {
		t.Errorf("%d rows of two", got)
	}
	if misses, size := metric(c, "parley_cache_misses_total"), metric(c, "parley_cache_bytes"); misses != 3 || size == 0 {
		t.Errorf("%v misses, %v bytes", misses, size)
	}
	c.Signal(syscall.SIGTERM)
	c.Wait()

	files := cachedFiles(t, dir)
	if len(files) != 3 {
		t.Fatalf("cached are %q", files)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2]++
	if err := os.Chmod(files[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], content, 0o644); err != nil {
		t.Fatal(err)
	}
	c = r.start(dir)
	for i := range 4 {
		if got := c.Count(fmt.Sprint("shop/d", i)); got != 100 {
			t.Errorf("d%d has %d rows", i, got)
		}
	}
	if hits, failures := metric(c, "parley_cache_hits_total"), metric(c, "parley_cache_failures_total"); hits < 2 || failures != 1 {
		t.Errorf("after a file was changed: %v hits, %v failures", hits, failures)
	}
	if files, times := r.fetched(); files != 4 || times != 5 {
		t.Errorf("%d files of datasets were fetched %d times", files, times)
	}
	c.Signal(syscall.SIGTERM)
	c.Wait()

	// What another has deleted goes from the cache.
	if status := other.Ask("DELETE", "/data/self/shop/d1", nil, nil); status != http.StatusNoContent {
		t.Errorf("delete: %d", status)
	}
	r.start(dir)
	e2etest.Eventually(t, func() bool { return len(cachedFiles(t, dir)) == 3 })
}

// TestSmallCache queries datasets that do not all fit, many at a time.
func TestSmallCache(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	first := r.start(t.TempDir())
	fill(first, 6, 500)
	first.Count("shop/d0")
	one := int(metric(first, "parley_cache_bytes"))
	dir := t.TempDir()
	size := fmt.Sprint("PARLEY_CACHE_SIZE=", 2*one+one/2)
	c := r.start(dir, size)
	var group sync.WaitGroup
	for client := range 6 {
		group.Go(func() {
			for i := range 6 {
				if got := c.Count(fmt.Sprint("shop/d", (client+i)%6)); got != 500 {
					t.Errorf("%d rows", got)
				}
				if size := metric(c, "parley_cache_bytes"); size > float64(2*one+one/2) {
					t.Errorf("the cache has %v bytes", size)
				}
			}
		})
	}
	group.Wait()
	if evictions := metric(c, "parley_cache_evictions_total"); evictions < 4 {
		t.Errorf("%v evictions", evictions)
	}
	if files := cachedFiles(t, dir); len(files) > 2 {
		t.Errorf("cached are %q", files)
	}
	c.Signal(syscall.SIGTERM)
	c.Wait()
	c = r.start(dir, size) // its workers have no table in memory yet
	var answer struct{ Message string }
	if status := c.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT 1 FROM d0, d1, d2"}, &answer); status != http.StatusServiceUnavailable {
		t.Errorf("more than fits: %d %s", status, answer.Message)
	}
}

// TestTidiedOnce has three servers on one database and bucket, of which one
// removes what belongs to nothing.
func TestTidiedOnce(t *testing.T) {
	t.Parallel()
	r := newReplicas(t)
	c := r.start(t.TempDir())
	fill(c, 5, 10)
	if status := c.Ask("DELETE", "/data/self/shop?deleteDatasets=true", nil, nil); status != http.StatusNoContent {
		t.Fatalf("delete: %d", status)
	}
	c.Signal(syscall.SIGTERM)
	c.Wait()
	db, err := sqlx.Open("postgres", r.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`UPDATE loose_objects SET due_at = 0`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE leases SET expires_at = 0`); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 3 {
		dir := t.TempDir()
		group.Go(func() { e2etest.Serve(t, dir, r.env) })
	}
	group.Wait()
	e2etest.Eventually(t, func() bool {
		var orphaned int
		return db.Get(&orphaned, `SELECT count(*) FROM loose_objects`) == nil && orphaned == 0
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, times := range r.gets {
		if strings.HasPrefix(what, "DELETE ") && times != 1 {
			t.Errorf("%s: %d times", what, times)
		}
	}
}

// TestCompactedOnce has two servers add to one dataset, whose files become one
// now and then. No such file is made for nothing: all orphaned ones were part of
// the dataset.
func TestCompactedOnce(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	r := newReplicas(t)
	servers := []e2etest.Client{r.start(t.TempDir()), r.start(t.TempDir())}
	servers[0].Ask("POST", "/ingest/new/shop/orders", nil, nil)
	// The first rows make the columns, which others would have to wait for.
	if status := servers[0].Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": 0}}}, nil); status != http.StatusOK {
		t.Fatalf("append: %d", status)
	}
	const each, all = 40, 81
	var group sync.WaitGroup
	for _, c := range servers {
		for range 2 {
			group.Go(func() {
				for i := range each / 2 {
					if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": i}}}, nil); status != http.StatusOK {
						t.Errorf("append: %d", status)
					}
				}
			})
		}
	}
	group.Wait()
	db, err := sqlx.Open("postgres", r.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var state struct{ Files, Rows, Orphaned, Wasted int }
	err = db.Get(&state, `
SELECT (SELECT count(*) FROM dataset_files) AS files,
	(SELECT sum(row_count) FROM dataset_files) AS rows,
	(SELECT count(*) FROM loose_objects) AS orphaned,
	(SELECT count(*) FROM loose_objects WHERE due_at > $1) AS wasted`, time.Now().Add(30*time.Minute).UnixMilli())
	if err != nil || state.Rows != all || state.Orphaned < 32 || state.Wasted != 0 || state.Files >= 64 {
		t.Errorf("%+v, %v", state, err)
	}
	for _, c := range servers {
		if got := c.Count("shop/orders"); got != all {
			t.Errorf("%d rows", got)
		}
	}
}
