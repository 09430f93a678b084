package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/datasets"
	"parley/storage/sqlstore"
)

// outages make the first call of each kind fail: before it has any effect, or when
// it has had it and only the answer is missing.
type outages struct {
	afterwards bool
	mu         sync.Mutex
	calls      map[string]int
}

func (o *outages) call(kind string, do func() error) error {
	o.mu.Lock()
	o.calls[kind]++
	first := o.calls[kind] == 1
	o.mu.Unlock()
	away := fmt.Errorf("%s: %w", kind, domain.ErrUnavailable)
	switch {
	case first && !o.afterwards:
		return away
	case first:
		if err := do(); err != nil {
			return err
		}
		return away
	}
	return do()
}

type flakyRecords struct {
	datasets.Records
	*outages
}

func (r flakyRecords) DatasetDataByID(ctx context.Context, caller domain.Caller, id string) (data domain.DatasetData, err error) {
	err = r.call("read the dataset", func() error { data, err = r.Records.DatasetDataByID(ctx, caller, id); return err })
	return data, err
}

func (r flakyRecords) AddOrphanedObjects(ctx context.Context, keys []string, lasts time.Duration) error {
	return r.call("list files", func() error { return r.Records.AddOrphanedObjects(ctx, keys, lasts) })
}

func (r flakyRecords) CommitVersion(ctx context.Context, change domain.VersionChange) error {
	return r.call("commit", func() error { return r.Records.CommitVersion(ctx, change) })
}

type flakyObjects struct {
	datasets.Objects
	*outages
}

func (o flakyObjects) Source(ctx context.Context, key, dir string) (path string, err error) {
	err = o.call("fetch", func() error { path, err = o.Objects.Source(ctx, key, dir); return err })
	return path, err
}

func (o flakyObjects) Put(ctx context.Context, key, path string) error {
	return o.call("keep", func() error { return o.Objects.Put(ctx, key, path) })
}

// endHandler hears how an ingestion ended.
type endHandler struct {
	slog.Handler
	ended chan<- string
}

func (endHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h endHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h endHandler) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "ingestion completed" || record.Message == "ingestion failed" {
		h.ended <- record.Message
	}
	return nil
}

// An ingestion for which each store is away at each call goes on where it was: what
// a model has extracted is not extracted again, no file is made twice, and the rows
// are there once.
func TestIngestionRepeatsTheFailedCall(t *testing.T) {
	t.Parallel()
	for name, afterwards := range map[string]bool{"not done": false, "done, and not answered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
				ingestWithOutages(t, store, &outages{afterwards: afterwards, calls: map[string]int{}})
			})
		})
	}
}

func ingestWithOutages(t *testing.T, store *sqlstore.Store, faults *outages) {
	extracted, ended := 0, make(chan string, 1)
	s := newServiceOn(t, store, newDataPlane(t, store, func(cfg *datasets.Config) {
		cfg.Records, cfg.Objects = flakyRecords{cfg.Records, faults}, flakyObjects{cfg.Objects, faults}
		cfg.Log = slog.New(endHandler{slog.DiscardHandler, ended})
		cfg.Extract = func(context.Context, datasets.Piece) ([]json.RawMessage, error) {
			extracted++
			return []json.RawMessage{json.RawMessage(`{"n":1}`), json.RawMessage(`{"n":2}`)}, nil
		}
	}))
	definition := domain.Definition{Schema: map[string]string{"n": "a number"}}
	if err := store.CreateDataset(t.Context(), domain.Caller{Username: "alice"}, "shop", "notes", definition); err != nil {
		t.Fatal(err)
	}
	const text = "One and two."
	session := s.prepare("alice", "notes.md", len(text))
	file := session.Files[0]
	etag := s.put(file.PresignedURLs[0].URL, text).header.Get("ETag")
	s.post("alice", "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish", map[string]any{
		"uploadId": file.UploadID, "key": file.Key, "parts": []any{map[string]any{"partNumber": 1, "etag": etag}}}, nil)
	var started struct{ ID string }
	s.post("alice", "/data/alice/shop/notes/ingest", map[string]any{
		"files": []any{map[string]any{"sessionId": session.SessionID, "fileId": file.FileID}}}, &started)
	if got := s.ingested("alice", "/data/alice/shop/notes", started.ID); got.Status != "completed" {
		t.Fatalf("the ingestion: %+v", got)
	}
	// When only the answer to the commit is missing, the rows are there before the
	// process knows.
	select {
	case how := <-ended:
		if how != "ingestion completed" {
			t.Errorf("the process says: %s", how)
		}
	case <-time.After(waittest.Limit):
		t.Fatal("the process does not end the ingestion")
	}
	var answer struct{ Data []struct{ N int } }
	s.post("alice", "/query", map[string]any{"username": "self", "namespace": "shop", "query": "SELECT n FROM notes"}, &answer)
	if len(answer.Data) != 2 || extracted != 1 {
		t.Errorf("%d rows, extracted %d times", len(answer.Data), extracted)
	}
	faults.mu.Lock()
	defer faults.mu.Unlock()
	delete(faults.calls, "read the dataset")                                                     // also by what is done afterwards
	if commits := faults.calls["commit"]; commits != 2 && !(faults.afterwards && commits == 1) { // where the renewal has seen the end
		t.Errorf("committed %d times", commits)
	}
	delete(faults.calls, "commit")
	if want := map[string]int{"fetch": 2, "list files": 2, "keep": 2}; !maps.Equal(faults.calls, want) {
		t.Errorf("calls %v, want %v", faults.calls, want)
	}
}
