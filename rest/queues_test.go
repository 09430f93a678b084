package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
	"parley/storage/datasets"
)

// refusedForNow checks that a user who has too much under way is told so, and when
// to come back.
func (s *service) refusedForNow(what string, got answer) {
	s.t.Helper()
	s.checkError(what, got, http.StatusTooManyRequests, "TOO_MANY_REQUESTS")
	if got.header.Get("Retry-After") == "" {
		s.t.Errorf("%s: no Retry-After", what)
	}
}

// heldDatasets holds back alice's rows, and her previews.
type heldDatasets struct {
	rest.Datasets
	gate chan struct{}
}

func (l heldDatasets) hold(caller domain.Caller) bool {
	if caller.Username == "alice" {
		<-l.gate
	}
	return caller.Username == "alice"
}

func (l heldDatasets) AppendRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rows []json.RawMessage, options domain.IngestOptions, beforeCommit func() error) error {
	if l.hold(caller) {
		return nil
	}
	return l.Datasets.AppendRows(ctx, caller, ref, rows, options, beforeCommit)
}

func (l heldDatasets) Preview(ctx context.Context, caller domain.Caller, rows []json.RawMessage, definition domain.Definition) ([]json.RawMessage, error) {
	if l.hold(caller) {
		return rows, nil
	}
	return l.Datasets.Preview(ctx, caller, rows, definition)
}

// TestLargeRequestsTakeTurns has alice send more rows, and ask for more previews,
// than are taken at once.
func TestLargeRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
		cfg.Datasets, cfg.RequestTimeout = heldDatasets{cfg.Datasets, gate}, time.Hour
	})
	s.rest.SetQueueTimeout(time.Hour)
	const atOnce, waiting = 4, 64
	var done sync.WaitGroup
	paths, body := []string{"/ingest/shop/orders", "/infer/preview"}, `{"data":[{"id":1}]}`
	s.create("alice", "shop", "orders")
	token := s.token("alice")
	for _, path := range paths {
		for range atOnce + waiting {
			done.Go(func() {
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, rest.Root+path, strings.NewReader(body))
				request.Header.Set("Authorization", "Bearer "+token)
				answer := httptest.NewRecorder()
				s.rest.ServeHTTP(answer, request)
				if answer.Code != http.StatusOK {
					t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
				}
			})
		}
	}
	waittest.Until(s.t, "turns", func() bool {
		_, large, infer := s.rest.QueueStats()
		return large.Running == atOnce && large.Waiting == waiting && infer.Running == atOnce && infer.Waiting == waiting
	})
	for _, path := range paths {
		s.refusedForNow(path, s.send("alice", http.MethodPost, path, "application/json", body))
	}
	for _, path := range paths {
		if got := s.send("bob", http.MethodPost, path, "application/json", body); got.status != http.StatusOK {
			t.Errorf("somebody else's %s: %d %s", path, got.status, got.body)
		}
	}
	s.prepare("bob", "a.csv", 5)
	close(gate)
	done.Wait()
}

// TestDecodingTakesTurns holds the slots for decoding: large bodies wait, small ones do not. A
// request that has been decoded holds none.
func TestDecodingTakesTurns(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Datasets = heldDatasets{cfg.Datasets, gate} })
	s.rest.SetQueueTimeout(time.Hour)
	decodes := s.rest.Decodes()
	var held []*fair.Slot
	for i := 0; decodes.Stats().Waiting == 0; i++ {
		held = append(held, decodes.AcquireUnbounded(fmt.Sprint("other", i)))
	}
	small, large := `{"data":[{"a":1}]}`, `{"data":[{"a":"`+strings.Repeat("x", 64<<10)+`"}]}`
	if got := s.send("bob", http.MethodPost, "/infer/preview", "application/json", small); got.status != http.StatusOK {
		t.Errorf("a small body: %d %s", got.status, got.body)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if got := s.send("alice", http.MethodPost, "/infer/preview", "application/json", large); got.status != http.StatusOK {
			t.Errorf("a large body: %d %s", got.status, got.body)
		}
	})
	waittest.Until(t, "the large body waits", func() bool { return decodes.Stats().Waiting == 2 })
	for _, slot := range held {
		slot.Release()
	}
	waittest.Until(t, "it is decoded", func() bool {
		_, _, infer := s.rest.QueueStats()
		return decodes.Stats() == fair.Stats{} && infer.Running == 1
	})
	close(gate)
	done.Wait()
}

// TestPartsTakeTurns has alice send parts that do not come.
func TestPartsTakeTurns(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	plane := newDataPlane(t, store)
	s := newServiceOn(t, store, plane)
	const atOnce, waiting = 16, 64
	address := func(user string) string { return s.prepare(user, "a.csv", 5).Files[0].PresignedURLs[0].URL }
	alices := address("alice")
	stopped, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for range atOnce + waiting {
		done.Go(func() {
			held, end := io.Pipe()
			context.AfterFunc(stopped, func() { _ = end.Close() })
			request, err := http.NewRequestWithContext(stopped, http.MethodPut, alices, held)
			if err != nil {
				t.Error(err)
				return
			}
			request.ContentLength = 5
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	waittest.Until(s.t, "turns", func() bool {
		now := plane.folder.QueueStats()
		return now.Running == atOnce && now.Waiting == waiting
	})
	s.refusedForNow("one part too many", s.put(alices, "12345"))
	if got := s.put(address("bob"), "12345"); got.status != http.StatusOK {
		t.Errorf("somebody else's part: %d %s", got.status, got.body)
	}
	stop()
	done.Wait()
	waittest.Until(s.t, "nothing is left", func() bool { now := plane.folder.QueueStats(); return now.Running+now.Waiting == 0 })
}

// TestIngestionsTakeTurns has alice's first ingestions take for ever, and many more
// wait behind them, while bob's are done.
func TestIngestionsTakeTurns(t *testing.T) {
	t.Parallel()
	store, gate := sqlstoretest.SQLite(t), make(chan struct{})
	var made atomic.Int32
	plane := newDataPlane(t, store, func(cfg *datasets.Config) {
		cfg.Ingestions = 3
		cfg.Ingester = datasets.NewIngester(datasets.IngesterConfig{Jobs: 5, Command: func() (string, []string, []string) {
			if made.Add(1) <= 2 { // alice's, of whose two are done at once
				<-gate
			}
			return worker("ingest")()
		}})
	})
	s := newServiceOn(t, store, plane)
	t.Cleanup(sync.OnceFunc(func() { // also when the test fails, before the work is waited for
		select {
		case <-gate:
		default:
			close(gate)
		}
	}))
	const flood = 6
	alices := s.startIngestions("alice", flood)
	waittest.Until(s.t, "alice's", func() bool { return made.Load() == 2 })
	for _, id := range s.startIngestions("bob", 2) {
		if got := s.ingested("bob", "/data/bob/shop/orders", id); got.Status != "completed" {
			t.Errorf("bob's: %+v", got)
		}
	}
	for _, user := range []string{"bob", "alice"} {
		if status := s.post(user, "/ingest/shop/rows", map[string]any{"data": []any{map[string]any{"id": 1}}}, nil); status != http.StatusOK {
			t.Errorf("%s's rows meanwhile: %d", user, status)
		}
	}
	if now := plane.datasets.IngestStats(); now.Running != 2 || now.Waiting != 0 {
		t.Errorf("alice has %+v", now)
	}
	close(gate)
	for _, id := range alices {
		if got := s.ingested("alice", "/data/alice/shop/orders", id); got.Status != "completed" {
			t.Errorf("alice's: %+v", got)
		}
	}
}

// startIngestions has a user upload a file and ingest it so many times.
func (s *service) startIngestions(user string, count int) (ids []string) {
	s.t.Helper()
	s.create(user, "shop", "orders")
	session := s.prepare(user, "orders.csv", len(ordersCSV))
	file := session.Files[0]
	etag := strings.Trim(s.put(file.PresignedURLs[0].URL, ordersCSV).header.Get("ETag"), `"`)
	s.post(user, "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish", map[string]any{
		"uploadId": file.UploadID, "key": file.Key, "parts": []any{map[string]any{"partNumber": 1, "etag": etag}}}, nil)
	for range count {
		var started struct{ ID string }
		status := s.post(user, fmt.Sprintf("/data/%s/shop/orders/ingest", user), map[string]any{
			"files": []any{map[string]any{"sessionId": session.SessionID, "fileId": file.FileID}}}, &started)
		if status != http.StatusAccepted {
			s.t.Fatalf("start an ingestion: %d", status)
		}
		ids = append(ids, started.ID)
	}
	return ids
}

// TestOpenUploadsAreBounded has alice begin uploads and not finish them.
func TestOpenUploadsAreBounded(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	s := newService(t, store)
	session := domain.UploadSession{ID: uuid.NewString()}
	for i := range domain.MaxOpenUploads {
		session.Files = append(session.Files, domain.UploadFile{
			ID: uuid.NewString(), Filename: "a.csv", Size: 5, PartSize: 8, Key: fmt.Sprint("uploads/", i), UploadID: fmt.Sprint("u", i)})
	}
	if err := store.CreateUploadSession(t.Context(), domain.Caller{Username: "alice"}, session); err != nil {
		t.Fatal(err)
	}
	body := `{"filename":"a.csv","size":5}`
	s.refusedForNow("prepare", s.send("alice", http.MethodPost, "/file-upload/prepare", "application/json", `{"filesToUpload":[`+body+`]}`))
	s.refusedForNow("prepare for a dataset", s.send("alice", http.MethodPost, "/upload/multipart/self/shop/orders/prepare", "application/json", body))
	s.prepare("bob", "a.csv", 5)
	if got := s.send("alice", http.MethodPost, "/file-upload/"+session.ID+"/abort", "", ""); got.status != http.StatusOK {
		t.Fatalf("abort: %d %s", got.status, got.body)
	}
	s.prepare("alice", "a.csv", 5)
}
