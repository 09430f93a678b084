package datasets

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// blockingObjects is a folder of objects. Those of files named "blocked" take as long as their
// reader waits.
type blockingObjects struct{ dirObjects }

func (o blockingObjects) Source(ctx context.Context, key, dir string) (string, error) {
	if strings.HasSuffix(key, "blocked") {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	return o.dirObjects.Source(ctx, key, dir)
}

func (o blockingObjects) Check(context.Context, []domain.DataFile) error { return nil }

// ingestions has users ingest files, for real.
type ingestions struct {
	*Datasets
	t       *testing.T
	store   *sqlstore.Store
	objects blockingObjects
}

func newIngestions(t *testing.T, extract Extract) ingestions {
	t.Helper()
	s := ingestions{t: t, store: sqlstoretest.SQLite(t), objects: blockingObjects{dirObjects{dir: t.TempDir()}}}
	var err error
	s.Datasets, err = NewDatasets(Config{
		Records: s.store, Objects: s.objects, Ingester: NewIngester(IngesterConfig{}), Dir: t.TempDir(),
		Log: slog.New(slog.DiscardHandler), Ingestions: 3, Lease: time.Minute, Extract: extract,
	})
	s.must(err)
	return s
}

func (s ingestions) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// start starts an ingestion of a text into a new dataset of a user.
func (s ingestions) start(user, filename, text string, definition domain.Definition) domain.DatasetRef {
	s.t.Helper()
	caller, id := domain.Caller{Username: user}, uuid.NewString()
	path := filepath.Join(s.t.TempDir(), "source")
	s.must(os.WriteFile(path, []byte(text), 0o600))
	key := "uploads/" + id + filename
	s.must(s.objects.Put(s.t.Context(), key, path))
	session := domain.UploadSession{ID: id, Files: []domain.UploadFile{
		{ID: id, Filename: filename, Size: int64(len(text)), PartSize: 1 << 20, Key: key, UploadID: id}}}
	s.must(s.store.CreateUploadSession(s.t.Context(), caller, session))
	_, err := s.store.CompleteUploadFile(s.t.Context(), caller, id, id)
	s.must(err)
	name := "d" + id
	s.must(s.store.CreateDataset(s.t.Context(), caller, "ns", name, definition))
	ref := domain.DatasetRef{Owner: user, Namespace: "ns", Name: name}
	s.must(s.store.StartIngestion(s.t.Context(), caller, ref, domain.NewIngestion{
		ID: id, Mode: domain.IngestAppend, Files: []domain.IngestFile{{SessionID: id, FileID: id}}}))
	s.Wake()
	return ref
}

// state returns the only ingestion of a dataset.
func (s ingestions) state(ref domain.DatasetRef) domain.Ingestion {
	s.t.Helper()
	all, err := s.store.Ingestions(s.t.Context(), domain.Caller{Username: ref.Owner}, ref, time.Now().Add(time.Hour), 10)
	s.must(err)
	if len(all) != 1 {
		s.t.Fatalf("ingestions: %+v", all)
	}
	return all[0]
}

// useSlots has users hold all usual slots. freeOne frees one of them.
func (s ingestions) useSlots() (freeOne func()) {
	for i := range s.config.Ingestions {
		end, _ := s.claims.Open(fmt.Sprint("other", i), 1)
		if i == 0 {
			freeOne = end
		}
	}
	return freeOne
}

// A short ingestion is completed while others hold all usual slots, and want more.
func TestShortIngestionAmongLongOnes(t *testing.T) {
	t.Parallel()
	s := newIngestions(t, nil)
	meter := &s.config.Ingester.lanes.meter
	meter.slice, meter.timeout, meter.most = time.Hour, time.Hour, time.Hour // how long it takes does not matter
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.RunIngestions(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	startLong := func() {
		for i := range s.config.Ingestions {
			s.start(fmt.Sprint("long", i), "blocked", "a\n1\n", domain.Definition{})
		}
	}
	startLong()
	waittest.Until(t, "no usual slot is free", func() bool { return s.claims.Total() == s.config.Ingestions })
	for i := range s.config.Ingestions {
		meter.usage.Add(fmt.Sprint("long", i), 2*time.Hour)
	}
	startLong()
	ref := s.start("light", "tiny.csv", "a,b\n1,2\n", domain.Definition{})
	waittest.Until(t, "it is completed", func() bool { return s.state(ref).Status == domain.IngestionCompleted })
	if got := s.claims.Total(); got != s.config.Ingestions {
		t.Errorf("%d usual slots are in use", got)
	}
}

// A short ingestion runs only when no usual slot is free. One that uses more than a slice waits
// for a usual slot as before: nothing of it shows, and it counts as no attempt.
func TestStoppedShortIngestion(t *testing.T) {
	t.Parallel()
	s := newIngestions(t, nil)
	meter := &s.config.Ingester.lanes.meter
	slice := meter.slice
	ref := s.start("ann", "a.csv", "a,b\n1,2\n", domain.Definition{})
	if s.ingestNext(t.Context(), true) {
		t.Error("it does not wait for a free slot")
	}
	freeOne := s.useSlots()
	meter.slice = 1
	for range domain.MaxIngestionAttempts + 1 {
		meter.most = time.Hour
		if !s.ingestNext(t.Context(), true) {
			t.Fatal("it was not claimed")
		}
		if got := s.state(ref); got.Status != domain.IngestionPending || got.StatusMessage != "" || got.ProcessedBytes != 0 || got.ProcessedRows != 0 {
			t.Errorf("stopped: %+v", got)
		}
	}
	meter.slice, meter.most = slice, 1
	if s.ingestNext(t.Context(), true) {
		t.Error("its user was not charged")
	}
	freeOne()
	if !s.ingestNext(t.Context(), false) {
		t.Error("it does not wait any more")
	}
	if got := s.state(ref); got.Status != domain.IngestionCompleted || got.ProcessedRows != 1 {
		t.Errorf("in the end: %+v", got)
	}
}

// The language model is not called for a short ingestion, which may start again.
func TestNoExtractionInAShortIngestion(t *testing.T) {
	t.Parallel()
	calls := 0
	s := newIngestions(t, func(context.Context, Piece) ([]json.RawMessage, error) {
		calls++
		return rawRows(`{"item": "pear"}`), nil
	})
	freeOne := s.useSlots()
	ref := s.start("ann", "a.txt", "A pear.", domain.Definition{Schema: map[string]string{"item": "a fruit"}})
	if !s.ingestNext(t.Context(), true) || calls != 0 || s.state(ref).Status != domain.IngestionPending {
		t.Errorf("%d calls, %+v", calls, s.state(ref))
	}
	if s.ingestNext(t.Context(), true) {
		t.Error("it is claimed again")
	}
	freeOne()
	if !s.ingestNext(t.Context(), false) || calls != 1 || s.state(ref).Status != domain.IngestionCompleted {
		t.Errorf("%d calls, %+v", calls, s.state(ref))
	}
}

// A small ingestion does not wait for those of many new users, nor a user for many small ones of
// another.
func TestTurnsOfShortIngestions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ users, each, padding, own int }{
		"large ones of new users": {users: 6, each: 1, padding: 1000},
		"small ones of a user":    {users: 1, each: 6, own: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newIngestions(t, nil)
			s.useSlots()
			meter := &s.config.Ingester.lanes.meter
			meter.slice, meter.timeout, meter.most = time.Hour, time.Hour, time.Hour // how long it takes does not matter
			text := func(padding int) string {
				return "a\n" + strings.Repeat("1", 5) + strings.Repeat("\n1", padding) + "\n"
			}
			own := func() domain.DatasetRef { return s.start("ann", "own.csv", text(c.own), domain.Definition{}) }
			own() // others are before her in the order of users
			s.ingestNext(t.Context(), true)
			for i := range c.users {
				for range c.each {
					s.start(fmt.Sprint("user", i), "other.csv", text(c.padding), domain.Definition{})
				}
			}
			ref := own()
			for range 3 {
				s.ingestNext(t.Context(), true)
			}
			if got := s.state(ref); got.Status != domain.IngestionCompleted {
				t.Errorf("after three turns: %+v", got)
			}
		})
	}
}
