package server

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// BenchmarkLargeReads has one user read a conversation of 100 MB many times at
// once, and a task with an artifact of 10 MB meanwhile, and says how long that and /readyz take and what memory the server has.
func BenchmarkLargeReads(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"sqlite": func(testing.TB) string { return "" }, "postgres": pgtest.URL} {
		b.Run("store="+name, func(b *testing.B) {
			benchtest.Each(b, "readers", benchtest.Sizes(8, 8, 32), func(b *testing.B, readers int) { benchmarkLargeReads(b, url(b), readers) })
		})
	}
}

// largeConversation writes a conversation of alice's, of 1 MB turns, and gives its id
// and that of a run with an artifact of 10 MB.
func largeConversation(b *testing.B, dir, url string, turns int) (conversation, runID string) {
	b.Helper()
	data := filepath.Join(dir, "parley-data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		b.Fatal(err)
	}
	store := sqlstoretest.Open(b, sqlstore.Config{DatabaseURL: url, Path: filepath.Join(data, "parley.db")})
	alice := domain.Caller{Username: "alice"}
	conversation = uuid.NewString()
	if err := store.CreateDataset(b.Context(), alice, "shop", "orders", domain.Definition{}); err != nil {
		b.Fatal(err)
	}
	result := json.RawMessage(`{"response":"` + strings.Repeat("0123456789", 100_000) + `","steps":[]}`)
	for range turns {
		run, err := sqlstoretest.Ask(b.Context(), store, alice, domain.Question{
			ConversationID: conversation, Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "assistant", Text: "How many?"})
		if err == nil && runID == "" {
			runID = run.RunID
			err = sqlstoretest.Append(store, largeArtifact(runID))
		}
		if err == nil {
			err = sqlstoretest.Finish(b.Context(), store, alice, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: result})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	return conversation, runID
}

// largeArtifact is an artifact of 10 MB, the first event of a run.
func largeArtifact(runID string) domain.TaskChange {
	body := `{"artifactUpdate":{"artifact":{"artifactId":"large","parts":[{"text":"` + strings.Repeat("0123456789", 1_000_000) + `"}]}}}`
	return domain.TaskChange{
		RunID: runID, Holder: sqlstoretest.Holder, State: "working", Snapshot: json.RawMessage(`{}`),
		Events: []domain.Event{{Number: 1, Kind: domain.EventArtifact, Body: json.RawMessage(body)}},
	}
}

func benchmarkLargeReads(b *testing.B, url string, readers int) {
	dir, env := b.TempDir(), []string(nil)
	if url != "" {
		env = []string{"PARLEY_DATABASE_URL=" + url}
	}
	conversation, runID := largeConversation(b, dir, url, 100)
	p := e2etest.Serve(b, dir, env, "--log-level", "error")
	token, before := p.Token("alice"), p.PeakMemory()
	var took, tasks []time.Duration
	for b.Loop() {
		var reading sync.WaitGroup
		for range readers {
			reading.Go(func() { readAll(p, token, "/api/v1/query/conversations/"+conversation) })
		}
		reading.Go(func() { tasks = append(tasks, readTask(p, token, runID)) })
		done := make(chan time.Time)
		go func() { reading.Wait(); close(done) }()
		took = append(took, readyTimes(p, done)...)
	}
	slices.Sort(took)
	slices.Sort(tasks)
	alone := readyTimes(p, time.After(2*time.Second))
	slices.Sort(alone)
	b.ReportMetric(float64(alone[len(alone)*99/100].Microseconds())/1000, "ms-ready-p99-alone")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-ready")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-ready-p99")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "ms-ready-max")
	b.ReportMetric(float64(tasks[len(tasks)-1].Microseconds())/1000, "ms-task-max")
	b.ReportMetric(float64(p.PeakMemory()-before)/(1<<20), "MiB-more")
}

// readAll reads an answer and throws it away.
func readAll(p *e2etest.Process, token, path string) {
	request, err := http.NewRequestWithContext(p.T.Context(), http.MethodGet, p.URL+path, http.NoBody)
	if err != nil {
		p.T.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.T.Error(err)
		return
	}
	defer func() { _ = response.Body.Close() }()
	if read, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK || read < 100_000_000 {
		p.T.Errorf("%d, %d bytes, %v", response.StatusCode, read, err)
	}
}

// readTask returns how long a task with a large artifact takes to be read.
func readTask(p *e2etest.Process, token, runID string) time.Duration {
	start := time.Now()
	request := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + runID + `"}}`)
	if status, body, err := p.Try(token, http.MethodPost, "/api/v1/a2a/assistant", request); err != nil || status != http.StatusOK || len(body) < 10_000_000 {
		p.T.Errorf("task: %d %.200s, %v", status, body, err)
	}
	return time.Since(start)
}

// readyTimes asks whether the server is ready until done, and gives how long each
// answer took.
func readyTimes(p *e2etest.Process, done <-chan time.Time) (took []time.Duration) {
	for {
		start := time.Now()
		if status, body := p.Call("", "GET", "/readyz", ""); status != http.StatusOK {
			p.T.Errorf("not ready: %d %s", status, body)
		}
		took = append(took, time.Since(start))
		select {
		case <-done:
			return took
		case <-time.After(5 * time.Millisecond):
		}
	}
}
