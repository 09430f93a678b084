package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/datasets"
	"parley/storage/objects"
	"parley/storage/sqlstore"
)

// meanwhileDatasets does something once, when rows have been read and not yet committed.
type meanwhileDatasets struct {
	rest.Datasets
	do atomic.Pointer[func()]
}

func (l *meanwhileDatasets) AppendRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rows []json.RawMessage, options domain.IngestOptions, beforeCommit func() error) error {
	return l.Datasets.AppendRows(ctx, caller, ref, rows, options, func() error {
		if do := l.do.Swap(nil); do != nil {
			(*do)()
		}
		return beforeCommit()
	})
}

// Rows are not added to a dataset that cannot be read.
func TestAppendToDamagedDataset(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	plane := newDataPlane(t, store)
	s := newServiceOn(t, store, plane)
	send := func(body string, status int, text string) {
		t.Helper()
		got := s.send("alice", http.MethodPost, "/ingest/lab/plants", "application/json", body)
		if got.status != status || !strings.Contains(got.body, text) {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	has := func(rows string) {
		t.Helper()
		if got := s.send("alice", http.MethodGet, "/data/alice/lab/plants", "", ""); !strings.Contains(got.body, `"rowCount":`+rows) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	send(`{"data":[{"name":"oak"}]}`, http.StatusOK, "")
	data, err := store.DatasetData(t.Context(), domain.Caller{Username: "alice"}, domain.DatasetRef{Owner: "alice", Namespace: "lab", Name: "plants"})
	if err != nil || len(data.Files) != 1 {
		t.Fatalf("%+v, %v", data, err)
	}
	path, err := plane.folder.Path(t.Context(), data.Files[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(content) // in the data, with the metadata at the end intact
	for i := 4; i < 20; i++ {
		flipped[i] ^= 0xff
	}
	for name, damaged := range map[string][]byte{"missing": nil, "cut off": content[:len(content)/2], "overwritten": make([]byte, len(content)), "flipped": flipped} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if damaged != nil {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		send(`{"data":[{"name":"`+name+`"}]}`, http.StatusServiceUnavailable, "a file of the dataset is missing or damaged: its rows cannot be read, and none can be added; the operator must restore the file")
		has("1")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	send(`{"data":[{"name":"fern"}]}`, http.StatusOK, "")
	has("2")
}

// TestDamagedFile reads a dataset whose file has wrong bytes that only a reader of the rows
// finds. Then rows are refused, until the file is right again.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	plane := newDataPlane(t, store)
	s := newServiceOn(t, store, plane)
	const add, query, download = "/ingest/lab/plants", "/query", "/data/alice/lab/plants/download"
	send := func(method, path, body string, status int, text string) {
		t.Helper()
		got := s.send("alice", method, path, "application/json", body)
		if got.status != status || !strings.Contains(got.body, text) {
			t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
		}
	}
	const row, sql, neutral = `{"data":[{"name":"oak"}]}`, `{"username":"self","namespace":"lab","query":"SELECT name FROM plants"}`, "the operator must restore the file"
	send(http.MethodPost, add, row, http.StatusOK, "")
	data, err := store.DatasetData(t.Context(), domain.Caller{Username: "alice"}, domain.DatasetRef{Owner: "alice", Namespace: "lab", Name: "plants"})
	if err != nil {
		t.Fatal(err)
	}
	path, err := plane.folder.Path(t.Context(), data.Files[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(good)
	for i := 4; i < 20; i++ {
		flipped[i] ^= 0xff
	}
	// As a fault of the disk, without a change of the time.
	if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, flipped, 0o644), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	send(http.MethodPost, query, sql, http.StatusServiceUnavailable, neutral)
	send(http.MethodGet, download, "", http.StatusServiceUnavailable, neutral)
	send(http.MethodPost, add, row, http.StatusServiceUnavailable, "missing or damaged: its rows cannot be read, and none can be added; the operator must restore the file")
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	send(http.MethodPost, query, sql, http.StatusOK, "oak")
	send(http.MethodGet, download, "", http.StatusOK, "oak")
	send(http.MethodPost, add, row, http.StatusOK, "")
}

// damageFile changes one bit of a text in a file of a dataset, and not its time. It returns a function that
// restores the file.
func damageFile(t *testing.T, path, text string) (restore func()) {
	t.Helper()
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(content []byte) {
		if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, content, 0o644), os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
			t.Fatal(err)
		}
	}
	at := bytes.Index(good, []byte(text))
	if at < 0 {
		t.Fatalf("no %q in the file", text)
	}
	wrong := bytes.Clone(good)
	wrong[at] ^= 1 << 1
	write(wrong)
	return func() { write(good) }
}

// filesOf returns the paths of the files of a dataset plants.
func filesOf(t *testing.T, plane dataPlane, store *sqlstore.Store, user string) (paths []string) {
	t.Helper()
	data, err := store.DatasetData(t.Context(), domain.Caller{Username: user}, domain.DatasetRef{Owner: user, Namespace: "lab", Name: "plants"})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range data.Files {
		path, err := plane.folder.Path(t.Context(), file.Key)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// readable sends requests that need the rows of a user's plants.
func readable(s *service, user, row string, right bool) {
	s.t.Helper()
	const sql = `{"username":"self","namespace":"lab","query":"SELECT name FROM plants"}`
	for _, request := range [][3]string{
		{http.MethodPost, "/query", sql}, {http.MethodGet, "/data/" + user + "/lab/plants/download", ""}, {http.MethodPost, "/ingest/lab/plants", `{"data":[{"name":"fern"}]}`},
	} {
		got := s.send(user, request[0], request[1], "application/json", request[2])
		switch {
		case right && got.status != http.StatusOK, right && strings.Contains(request[1]+request[2], "SELECT") && !strings.Contains(got.body, row),
			!right && (got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "the operator must restore the file")):
			s.t.Errorf("%s %s, right: %v: %d %s", user, request[1], right, got.status, got.body)
		}
	}
}

// TestDamagedWhileStopped changes files between two processes, without a change of their sizes and
// times.
func TestDamagedWhileStopped(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	first := newDataPlane(t, store)
	s := newServiceOn(t, store, first)
	restart := func() *service {
		return newServiceOn(t, store, newDataPlane(t, store, func(cfg *datasets.Config) {
			cfg.Objects = objects.NewFolderFiles(first.folder)
		}))
	}
	var files []string
	for user, row := range map[string]string{"alice": "oak", "bob": "elm"} {
		if got := s.send(user, http.MethodPost, "/ingest/lab/plants", "application/json", `{"data":[{"name":"`+row+`"}]}`); got.status != http.StatusOK {
			t.Fatal(got.body)
		}
		files = append(files, filesOf(t, first, store, user)...)
	}
	alice := filesOf(t, first, store, "alice")[0]
	restore := damageFile(t, alice, "oak")
	s = restart()
	readable(s, "alice", "oak", false)
	readable(s, "bob", "elm", true)
	restore()
	readable(s, "alice", "oak", true)

	// The files of two users change places.
	swap := func() {
		t.Helper()
		other := filepath.Join(filepath.Dir(files[0]), "other")
		if err := errors.Join(os.Rename(files[0], other), os.Rename(files[1], files[0]), os.Rename(other, files[1])); err != nil {
			t.Fatal(err)
		}
	}
	swap()
	s = restart()
	readable(s, "alice", "oak", false)
	readable(s, "bob", "elm", false)
	swap()
	readable(s, "alice", "oak", true)
	readable(s, "bob", "elm", true)
}

// TestCompactionOfDamagedFile changes a file that this process has used, without a change of its
// size and time: it is not merged, but refused until it is right.
func TestCompactionOfDamagedFile(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	plane := newDataPlane(t, store)
	s := newServiceOn(t, store, plane)
	add := func() []string {
		t.Helper()
		if got := s.send("alice", http.MethodPost, "/ingest/lab/plants", "application/json", `{"data":[{"name":"oak"}]}`); got.status != http.StatusOK {
			t.Fatal(got.body)
		}
		return filesOf(t, plane, store, "alice")
	}
	const compacted = 32
	files := add()
	for len(files) < compacted-1 {
		files = add()
	}
	restore := damageFile(t, files[0], "oak")
	if files = add(); len(files) != compacted {
		t.Errorf("a damaged file was merged: there are %d files", len(files))
	}
	readable(s, "alice", "oak", false)
	restore()
	readable(s, "alice", "oak", true)
	if files = filesOf(t, plane, store, "alice"); len(files) != 1 {
		t.Errorf("the right files were not merged: there are %d", len(files))
	}
}

// TestRowsAreReadOnce counts the ingest workers that requests with rows start.
func TestRowsAreReadOnce(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	var workers atomic.Int32
	plane := newDataPlane(t, store, func(cfg *datasets.Config) {
		cfg.Ingester = datasets.NewIngester(datasets.IngesterConfig{Command: func() (string, []string, []string) {
			workers.Add(1)
			return worker("ingest")()
		}})
	})
	between := &meanwhileDatasets{Datasets: plane.datasets}
	s := newServiceOn(t, store, plane, func(cfg *rest.Config) { cfg.Datasets = between })
	send := func(body string, wantStatus int, wantWorkers int32) {
		t.Helper()
		workers.Store(0)
		got := s.send("alice", http.MethodPost, "/ingest/lab/plants", "application/json", body)
		if n := workers.Load(); got.status != wantStatus || n != wantWorkers {
			t.Errorf("%s: %d with %d workers, want %d with %d: %s", body, got.status, n, wantStatus, wantWorkers, got.body)
		}
	}
	has := func(texts ...string) {
		t.Helper()
		got := s.send("alice", http.MethodGet, "/data/alice/lab/plants", "", "")
		for _, text := range texts {
			if !strings.Contains(got.body, text) {
				t.Errorf("the dataset has no %s: %d %s", text, got.status, got.body)
			}
		}
	}
	send(`{"data":[{"name":"oak"}],"dataDescription":"Plants","options":{"types":{"name":"integer"}}}`, http.StatusUnprocessableEntity, 1)
	has("NOT_FOUND")

	send(`{"data":[{"name":"oak"}],"dataDescription":"Plants"}`, http.StatusOK, 1)
	has(`"rowCount":1`, `"dataDescription":"Plants"`)
	send(`{"data":[{"name":"fern"}],"dataDescription":"All plants"}`, http.StatusOK, 1)
	has(`"rowCount":2`, `"dataDescription":"All plants"`)
	send(`{"data":[{"name":"moss"}],"dataDescription":"Wrong","options":{"types":{"name":"integer"}}}`, http.StatusUnprocessableEntity, 1)
	has(`"rowCount":2`, `"dataDescription":"All plants"`)

	// While the rows are read, another request creates a dataset of this name, with other
	// columns: where there was none, and instead of the one that there was.
	for _, existing := range []bool{false, true} {
		meanwhile := func() {
			s.send("alice", http.MethodDelete, "/data/alice/lab/plants", "", "")
			got := s.send("alice", http.MethodPost, "/ingest/lab/plants", "application/json", `{"data":[{"height":3}]}`)
			if got.status != http.StatusOK {
				t.Errorf("meanwhile: %d %s", got.status, got.body)
			}
		}
		if !existing {
			s.send("alice", http.MethodDelete, "/data/alice/lab/plants", "", "")
		}
		between.do.Store(&meanwhile)
		send(`{"data":[{"name":"oak"}],"dataDescription":"Plants"}`, http.StatusOK, 3)
		has(`"rowCount":2`, `"dataDescription":"Plants"`, `"columnNames":["height","name"]`)
	}
}

// leavingDatasets has a client that leaves when the dataset is created and the rows are not yet
// committed.
type leavingDatasets struct {
	rest.Datasets
	leave func()
}

func (l leavingDatasets) AppendRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rows []json.RawMessage, options domain.IngestOptions, beforeCommit func() error) error {
	return l.Datasets.AppendRows(ctx, caller, ref, rows, options, func() error {
		defer l.leave()
		return beforeCommit()
	})
}

func TestRowsFollowTheirDataset(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Datasets = leavingDatasets{cfg.Datasets, leave} })
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, rest.Root+"/ingest/lab/plants", strings.NewReader(`{"data":[{"name":"oak"}]}`))
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	s.rest.ServeHTTP(httptest.NewRecorder(), request)
	if got := s.send("alice", http.MethodGet, "/data/alice/lab/plants", "", ""); !strings.Contains(got.body, `"rowCount":1`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// An ingestion ends when a file of its dataset has been replaced with a symbolic link: waiting
// does not help.
func TestIngestionWithLink(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	plane := newDataPlane(t, store)
	s := newServiceOn(t, store, plane)
	s.haveUpload()
	data, err := store.DatasetData(t.Context(), domain.Caller{Username: "alice"}, domain.DatasetRef{Owner: "alice", Namespace: "shop", Name: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	path, err := plane.folder.Path(t.Context(), data.Files[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := errors.Join(os.Rename(path, moved), os.Symlink(moved, path)); err != nil {
		t.Fatal(err)
	}
	var started struct{ ID string }
	s.post("alice", "/data/alice/shop/orders/ingest", map[string]any{
		"files": []any{map[string]any{"sessionId": s.vars["session"], "fileId": s.vars["file"]}}}, &started)
	if got := s.ingested("alice", "/data/alice/shop/orders", started.ID); got.Status != "failed" || !strings.Contains(got.StatusMessage, "missing or damaged") {
		t.Errorf("%+v", got)
	}
}
