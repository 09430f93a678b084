//go:build parleybench

package server

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // the engine, to compare with

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/domain"
)

// askQuestions are asked in turns: figures of all, of groups, of some, and the
// largest.
var askQuestions = []string{
	"How many orders are there?",
	"What is the average amount of orders for each city?",
	"What is the largest amount of orders in city 7?",
	"Which customer has the highest total amount?",
}

// BenchmarkAsk has clients ask nl2ql questions by A2A, as streams, that the reader
// answer with a query each, and has DuckDB run the same queries in this process,
// on a table in memory, in turns. overhead-ms is how much longer our answers
// take than DuckDB's to the same question: the middle one of all. It has a build tag,
// since all tests here would be linked with DuckDB, which takes seconds.
func BenchmarkAsk(b *testing.B) {
	shops := []struct {
		rows, datasets int
		clients        []int
	}{{100_000, 1, benchtest.Sizes(1, benchtest.Clients...)}}
	if benchtest.Full() {
		for _, rows := range []int{10_000, 1_000_000, 10_000_000} {
			shops = append(shops, shops[0])
			shops[len(shops)-1].rows, shops[len(shops)-1].clients = rows, []int{1}
		}
		for _, datasets := range []int{100, 1000} {
			shops = append(shops, shops[0])
			shops[len(shops)-1].datasets, shops[len(shops)-1].clients = datasets, []int{1}
		}
	}
	for _, shop := range shops {
		b.Run(fmt.Sprintf("rows=%d/datasets=%d", shop.rows, shop.datasets), func(b *testing.B) {
			s := newAskBench(b, shop.rows, shop.datasets)
			benchtest.Each(b, "clients", shop.clients, s.run)
		})
	}
}

// askBench is a server with orders among other datasets, and a DuckDB that has
// the same orders.
type askBench struct {
	e2etest.Client
	db *sql.DB
	// queries are what the server makes of the questions.
	queries []string
}

func newAskBench(b *testing.B, rows, datasets int) askBench {
	b.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	path := filepath.Join(b.TempDir(), "orders.parquet")
	for _, statement := range []string{
		fmt.Sprintf(`CREATE TABLE orders AS SELECT i AS id, 'customer ' || i %% 5000 AS customer, 'city ' || i * 31 %% 20 AS city,
			(i * 7919 %% 100000) / 100.0 AS amount, DATE '2020-01-01' + CAST(i %% 1500 AS INTEGER) AS day FROM range(%d) r(i)`, rows),
		`COPY orders TO '` + path + `'`,
	} {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	p := e2etest.Serve(b, b.TempDir(), []string{e2etest.Limits(e2etest.Object{"UserRuns": 128})}, "--log-level", "error")
	s := askBench{Client: e2etest.Client{Process: p, Token: p.Token("alice")}, db: db}
	s.fill(path, rows, datasets)
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 200
	for question, text := range askQuestions {
		query, err := s.answer(question)
		if err != nil || query == "" {
			b.Fatalf("%s: %q, %v", text, query, err)
		}
		s.queries = append(s.queries, query)
	}
	return s
}

// fill makes the datasets: orders, of a file, and others of a row each.
func (s askBench) fill(path string, rows, datasets int) {
	s.T.Helper()
	file, err := os.Open(path)
	if err != nil {
		s.T.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		s.T.Fatal(err)
	}
	s.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	s.Ingest("shop/orders", s.Upload("orders.parquet", info.Size(), file))
	if got := s.Settled("shop/orders"); got[0].ProcessedRows != int64(rows) {
		s.T.Fatalf("ingestion: %+v", got)
	}
	nouns := strings.Fields("ship harbor cargo crew voyage storm anchor sailor captain lighthouse")
	for i := range datasets - 1 {
		name := fmt.Sprintf("%s_%s_%d", nouns[i%10], nouns[i/10%10], i)
		row := e2etest.Object{"id": i, nouns[i%7]: "name", nouns[i%7] + "_weight": 1.5}
		if status := s.Ask("POST", "/ingest/shop/"+name, e2etest.Object{"data": []e2etest.Object{row}}, nil); status != http.StatusOK {
			s.T.Fatalf("dataset %s: %d", name, status)
		}
	}
}

// answer asks a question, reads the answer to its end and gives the query in it.
func (s askBench) answer(question int) (query string, err error) {
	request, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost, s.URL+"/api/v1/a2a/nl2ql", strings.NewReader(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":%q,"role":"ROLE_USER",
		"parts":[{"text":%q}],"metadata":{"namespace":"alice/shop"}}}}`, domain.NewID(), askQuestions[question])))
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	last := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = text
		var event struct {
			Result struct {
				ArtifactUpdate struct {
					Artifact struct {
						Name  string
						Parts []struct{ Text string }
					}
				}
			}
		}
		if made := &event.Result.ArtifactUpdate.Artifact; query == "" && json.Unmarshal([]byte(text), &event) == nil && made.Name == "generated-query" {
			query = made.Parts[0].Text
		}
	}
	if !strings.Contains(last, "TASK_STATE_COMPLETED") {
		return "", fmt.Errorf("%d: no answer: %.500s", response.StatusCode, last)
	}
	return query, nil
}

// duckdb runs the query of a question and reads what comes of it.
func (s askBench) duckdb(question int) error {
	rows, err := s.db.QueryContext(s.T.Context(), s.queries[question])
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for err == nil && rows.Next() {
		err = rows.Scan(values...)
	}
	return errors.Join(err, rows.Err())
}

// run measures both, with so many clients at once.
func (s askBench) run(b *testing.B, clients int) {
	ask := func(question int) error { _, err := s.answer(question); return err }
	s.all(b, clients, 1, s.duckdb)
	warm := slices.Concat(s.all(b, clients, 1, ask)...)
	// Some seconds a round.
	each := min(benchtest.Sizes(5, 25)[0], max(2, int(time.Second/(benchtest.Percentile(warm, 50)+1))))
	ours, theirs := make([][]time.Duration, len(askQuestions)), make([][]time.Duration, len(askQuestions))
	var took time.Duration
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		for question, times := range s.all(b, clients, each, ask) {
			ours[question] = append(ours[question], times...)
		}
		took += time.Since(start)
		for question, times := range s.all(b, clients, each, s.duckdb) {
			theirs[question] = append(theirs[question], times...)
		}
	}
	var over []time.Duration
	for question, times := range ours {
		raw := benchtest.Percentile(theirs[question], 50)
		for _, t := range times {
			over = append(over, t-raw)
		}
		b.Logf("%s %v, DuckDB %v", askQuestions[question], benchtest.Percentile(times, 50), raw)
	}
	all := slices.Concat(ours...)
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(all, 50)), "p50-ms")
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(all, 99)), "p99-ms")
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(slices.Concat(theirs...), 50)), "duckdb-p50-ms")
	b.ReportMetric(benchtest.Millis(benchtest.Percentile(over, 50)), "overhead-ms")
	b.ReportMetric(float64(len(all))/took.Seconds(), "answers/s")
	b.ReportMetric(0, "ns/op")
}

// all has clients do something with each question, so many times, and gives how
// long each took, by question.
func (s askBench) all(b *testing.B, clients, times int, do func(question int) error) [][]time.Duration {
	took := make([][]time.Duration, len(askQuestions))
	var mu sync.Mutex
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for i := range times * len(askQuestions) {
				question := (c + i) % len(askQuestions)
				start := time.Now()
				if err := do(question); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				took[question] = append(took[question], time.Since(start))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return took
}
