package rest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley/rest"
	"parley/storage"
	"parley/storage/lake"
	"parley/storage/sqlstore/sqlstoretest"
)

// meanwhileLake does something once, when rows have been read and not yet committed.
type meanwhileLake struct {
	rest.Lake
	do atomic.Pointer[func()]
}

func (l *meanwhileLake) AppendRows(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, rows []json.RawMessage, options storage.IngestOptions, beforeCommit func() error) error {
	return l.Lake.AppendRows(ctx, caller, ref, rows, options, func() error {
		if do := l.do.Swap(nil); do != nil {
			(*do)()
		}
		return beforeCommit()
	})
}

// TestRowsAreReadOnce counts the ingest workers that requests with rows start.
func TestRowsAreReadOnce(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	var workers atomic.Int32
	plane := newDataPlane(t, store, func(cfg *lake.DatasetsConfig) {
		cfg.Ingester = lake.NewIngester(lake.IngesterConfig{Command: func() (string, []string, []string) {
			workers.Add(1)
			return worker("ingest")()
		}})
	})
	between := &meanwhileLake{Lake: plane.datasets}
	s := newServiceOn(t, store, plane, func(cfg *rest.Config) { cfg.Lake = between })
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

// leavingLake has a client that leaves when the dataset is created and the rows are not yet
// committed.
type leavingLake struct {
	rest.Lake
	leave func()
}

func (l leavingLake) AppendRows(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, rows []json.RawMessage, options storage.IngestOptions, beforeCommit func() error) error {
	return l.Lake.AppendRows(ctx, caller, ref, rows, options, func() error {
		defer l.leave()
		return beforeCommit()
	})
}

func TestRowsFollowTheirDataset(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Lake = leavingLake{cfg.Lake, leave} })
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, rest.Root+"/ingest/lab/plants", strings.NewReader(`{"data":[{"name":"oak"}]}`))
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	s.rest.ServeHTTP(httptest.NewRecorder(), request)
	if got := s.send("alice", http.MethodGet, "/data/alice/lab/plants", "", ""); !strings.Contains(got.body, `"rowCount":1`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
