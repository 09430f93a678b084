package rest_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/baseurl"
	"parley/rest"
	"parley/storage/datasets"
	"parley/storage/datasets/engine"
	"parley/storage/objects"
	"parley/storage/sqlstore"
	"parley/storage/uploads"
)

// asWorker makes the test binary a worker.
const asWorker = "RUN_AS_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(asWorker) {
	case "query":
		os.Exit(engine.QueryMain())
	case "ingest":
		os.Exit(engine.IngestMain())
	}
	os.Exit(m.Run())
}

func worker(kind string) func() (string, []string, []string) {
	return func() (string, []string, []string) { return "/proc/self/exe", nil, []string{asWorker + "=" + kind} }
}

// dataPlane is what uploads, ingests and queries, for real.
type dataPlane struct {
	folder   *objects.Folder
	uploads  *uploads.Sessions
	parts    func(http.ResponseWriter, *http.Request) error
	datasets *datasets.Datasets
}

func newDataPlane(t testing.TB, store *sqlstore.Store, change ...func(*datasets.Config)) dataPlane {
	t.Helper()
	dir, log := t.TempDir(), slog.New(slog.DiscardHandler)
	folder, err := objects.OpenFolder(objects.FolderConfig{
		Dir: filepath.Join(dir, "objects"), Secret: []byte(strings.Repeat("s", 32)), BaseURL: baseurl.From, QueueTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := datasets.NewPool(datasets.PoolConfig{Command: worker("query"), Memory: 128 << 20, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cfg := datasets.Config{
		Records: store, Objects: objects.NewFolderFiles(folder), Pool: pool, Ingester: datasets.NewIngester(datasets.IngesterConfig{Command: worker("ingest")}),
		Dir: filepath.Join(dir, "work"), Log: log, Ingestions: 1, Lease: time.Minute,
	}
	for _, apply := range change {
		apply(&cfg)
	}
	datasets, err := datasets.NewDatasets(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		datasets.RunIngestions(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		pool.Close()
		if err := folder.Close(); err != nil {
			t.Error(err)
		}
	})
	sessions := uploads.New(uploads.Config{
		Records: store, Objects: folder, Log: log,
		PartSize: 8 << 20, MaxFiles: 100, MaxSize: 5 << 30, URLLife: 15 * time.Minute, Stale: 24 * time.Hour,
	})
	return dataPlane{folder, sessions, folder.ServePart, datasets}
}

const ordersCSV = "id,item,price,count\n1,apple,1.5,4\n2,pear,2,1\n3,apple,1.5,2\n"

// post sends JSON as a user and reads the JSON that comes back.
func (s *service) post(user, path string, body, into any) int {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.send(user, http.MethodPost, path, "application/json", string(text))
	if into != nil {
		if err := json.Unmarshal([]byte(got.body), into); err != nil {
			s.t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
	}
	return got.status
}

// prepared is an upload that was prepared.
type prepared struct {
	SessionID string
	Files     []struct {
		FileID, UploadID, Key string
		PresignedURLs         []struct {
			URL      string
			PartSize int64
		}
	}
}

func (s *service) prepare(user, filename string, size int) prepared {
	s.t.Helper()
	var session prepared
	status := s.post(user, "/file-upload/prepare", map[string]any{"filesToUpload": []any{map[string]any{"filename": filename, "size": size}}}, &session)
	if status != http.StatusOK {
		s.t.Fatalf("prepare: %d", status)
	}
	return session
}

// put sends bytes to an address and gives the answer.
func (s *service) put(url, body string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(request)
}

// haveUpload has alice upload orders.csv, ingest it into shop/orders, and begin
// another upload, and names all of it for scripts.
func (s *service) haveUpload() {
	s.t.Helper()
	for _, name := range []string{"orders", "empty"} {
		if got := s.send("alice", http.MethodPost, "/ingest/new/shop/"+name, "", ""); got.status != http.StatusCreated && got.status != http.StatusConflict {
			s.t.Fatalf("create: %d %s", got.status, got.body)
		}
	}
	session := s.prepare("alice", "orders.csv", len(ordersCSV))
	file := session.Files[0]
	sent := s.put(file.PresignedURLs[0].URL, ordersCSV)
	if sent.status != http.StatusOK {
		s.t.Fatalf("send a part: %d %s", sent.status, sent.body)
	}
	etag := strings.Trim(sent.header.Get("ETag"), `"`)
	s.vars["session"], s.vars["file"], s.vars["uploadId"], s.vars["key"], s.vars["etag"] = session.SessionID, file.FileID, file.UploadID, file.Key, etag
	status := s.post("alice", "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish", map[string]any{
		"uploadId": file.UploadID, "key": file.Key, "parts": []any{map[string]any{"partNumber": 1, "etag": etag}}}, nil)
	if status != http.StatusOK {
		s.t.Fatalf("finish: %d", status)
	}
	var started struct{ ID string }
	s.post("alice", "/data/alice/shop/orders/ingest", map[string]any{
		"files": []any{map[string]any{"sessionId": session.SessionID, "fileId": file.FileID}}}, &started)
	s.vars["ingestion"] = started.ID
	if attempt := s.ingested("alice", "/data/alice/shop/orders", started.ID); attempt.Status != "completed" {
		s.t.Fatalf("ingest: %+v", attempt)
	}

	open := s.prepare("alice", "open.csv", 10)
	s.vars["open"], s.vars["open-file"] = open.SessionID, open.Files[0].FileID
	s.vars["open-uploadId"], s.vars["open-key"] = open.Files[0].UploadID, open.Files[0].Key
}

// attempt is an ingestion as it is listed.
type attempt struct{ ID, Status, StatusMessage string }

// ingested waits until an ingestion has ended.
func (s *service) ingested(user, dataset, id string) attempt {
	s.t.Helper()
	for deadline := time.Now().Add(waittest.Limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		got := s.send(user, http.MethodGet, dataset+"/ingest/attempts", "", "")
		var list struct{ Data []attempt }
		if err := json.Unmarshal([]byte(got.body), &list); err != nil {
			s.t.Fatalf("%d %s", got.status, got.body)
		}
		for _, attempt := range list.Data {
			if attempt.ID == id && (attempt.Status == "completed" || attempt.Status == "failed") {
				return attempt
			}
		}
	}
	s.t.Fatal("the ingestion does not end")
	return attempt{}
}

var _ rest.Datasets = (*datasets.Datasets)(nil)
