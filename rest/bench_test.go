package rest_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
)

// BenchmarkConversationRead reads a conversation of three turns, and
// BenchmarkGrantCheck a dataset that is shared with the reader, one of many.
// Both print how often that is done for each time that a bare gin handler
// answers the same bytes, over HTTP, in the same run.
func BenchmarkConversationRead(b *testing.B) {
	eachStore(b, func(b *testing.B, store *sqlstore.Store) {
		s := newService(b, store, quiet)
		path := "/query/conversations/" + s.longConversation("alice", 3, 500)
		benchtest.Each(b, "clients", benchtest.Sizes(8, benchtest.Clients...), func(b *testing.B, clients int) {
			compareWithBare(b, s, "alice", path, clients)
		})
	})
}

func BenchmarkGrantCheck(b *testing.B) {
	eachStore(b, func(b *testing.B, store *sqlstore.Store) {
		s := newService(b, store, quiet)
		for i := range 50 {
			s.create("alice", "shop", fmt.Sprint("dataset", i))
		}
		err := store.ShareDataset(b.Context(), domain.Caller{Username: "alice"},
			domain.DatasetRef{Owner: "alice", Namespace: "shop", Name: "dataset25"}, domain.Grant{Username: "bob", Role: domain.Viewer})
		if err != nil {
			b.Fatal(err)
		}
		compareWithBare(b, s, "bob", "/data/alice/shop/dataset25", 8)
	})
}

// BenchmarkAppend adds ten rows to one dataset, again and again, and prints how
// much longer the last tenth of the additions took than the first.
func BenchmarkAppend(b *testing.B) {
	benchtest.Each(b, "appends", benchtest.Sizes(50, 50, 1000), benchmarkAppend)
}

func benchmarkAppend(b *testing.B, count int) {
	s := newService(b, sqlstoretest.SQLite(b), quiet)
	var rows []string
	for i := range 10 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"name %d","total":%d.5}`, i, i, i))
	}
	body := `{"data":[` + strings.Join(rows, ",") + `]}`
	for b.Loop() {
		took := make([]time.Duration, count)
		for i := range took {
			start := time.Now()
			if got := s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", body); got.status != http.StatusOK {
				b.Fatalf("%d %s", got.status, got.body)
			}
			took[i] = time.Since(start)
		}
		tenth := max(count/10, 1)
		first, last := sum(took[:tenth]), sum(took[count-tenth:])
		b.ReportMetric(float64(last)/float64(first), "last/first")
		b.ReportMetric(float64(sum(took).Milliseconds())/float64(count), "ms/append")
	}
}

func sum(times []time.Duration) (total time.Duration) {
	for _, t := range times {
		total += t
	}
	return total
}

func eachStore(b *testing.B, bench func(b *testing.B, store *sqlstore.Store)) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		b.Run("store="+name, func(b *testing.B) { bench(b, open(b)) })
	}
}

// quiet is the log as most run it, written to nowhere.
func quiet(cfg *rest.Config) { cfg.Log = slog.New(slog.NewJSONHandler(io.Discard, nil)) }

// compareWithBare reads path as user from the service and from a bare gin
// handler, in turns, and reports the median of the ratios.
func compareWithBare(b *testing.B, s *service, user, path string, clients int) {
	want := s.send(user, http.MethodGet, path, "", "")
	if want.status != http.StatusOK {
		b.Fatalf("%s: %d %s", path, want.status, want.body)
	}
	engine := gin.New()
	engine.GET(rest.Root+path, func(c *gin.Context) {
		c.Data(http.StatusOK, "application/json; charset=utf-8", []byte(want.body))
	})
	bare := httptest.NewServer(engine)
	defer bare.Close()

	defer debug.SetGCPercent(debug.SetGCPercent(400)) // for both, as `parley serve` sets it
	token := s.token(user)
	const rounds = 5
	count := max(b.N/rounds, 1)
	ratios, cpuRatios := make([]float64, rounds), make([]float64, rounds)
	var ours, bares time.Duration
	b.ResetTimer()
	for i := range ratios {
		bareTook, bareCPU := readMany(b, bare.URL+rest.Root+path, token, clients, count)
		ourTook, ourCPU := readMany(b, s.server.URL+rest.Root+path, token, clients, count)
		ratios[i] = float64(bareTook) / float64(ourTook)
		cpuRatios[i] = float64(bareCPU) / float64(max(ourCPU, 1))
		ours, bares = ours+ourTook, bares+bareTook
	}
	b.StopTimer()
	slices.Sort(ratios)
	slices.Sort(cpuRatios)
	b.ReportMetric(ratios[rounds/2], "of-bare")
	b.ReportMetric(cpuRatios[rounds/2], "of-bare-by-cpu") // the same, whatever else the machine does
	b.ReportMetric(float64(rounds*count)/ours.Seconds(), "reads/s")
	b.ReportMetric(float64(rounds*count)/bares.Seconds(), "bare-reads/s")
	b.ReportMetric(0, "ns/op") // both kinds of reads together: no figure of anything
}

// readMany reads a URL count times through some clients at once and gives how
// long that took, and how much of it this process was at work.
func readMany(b *testing.B, url, token string, clients, count int) (took, cpu time.Duration) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	start, startCPU := time.Now(), benchtest.CPU()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for range (count + i) / clients {
				request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
				if err != nil {
					b.Error(err)
					return
				}
				request.Header.Set("Authorization", "Bearer "+token)
				response, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					b.Errorf("status %d, %v", response.StatusCode, err)
					return
				}
			}
		})
	}
	group.Wait()
	return time.Since(start), benchtest.CPU() - startCPU
}
