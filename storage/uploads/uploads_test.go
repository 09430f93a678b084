package uploads_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/storage/objects"
	"parley/storage/uploads"
)

// sendPart opens a folder of objects, and sends it one part of an upload.
func sendPart(t *testing.T, dir string) *objects.Folder {
	t.Helper()
	folder, err := objects.OpenFolder(objects.FolderConfig{
		Dir: dir, Secret: bytes.Repeat([]byte("s"), 32), BaseURL: func(context.Context) string { return "http://test" },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	upload, err := folder.Begin(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	address, err := folder.PartURL(t.Context(), "alice", upload, 1, 4, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(objects.PartPath, func(w http.ResponseWriter, r *http.Request) {
		if err := folder.ServePart(w, r); err != nil {
			t.Error(err)
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, address, strings.NewReader("part")))
	return folder
}

// What is old by one clock alone stays, for the machine's may have been set.
func TestSweepByClocks(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		// records is how far the records' clock is ahead of the machine's, age how old
		// a part is by the latter.
		records, age time.Duration
		stays        bool
	}{
		"young":                            {0, time.Hour, true},
		"old":                              {0, 2 * day, false},
		"the machine's was set forward":    {-2 * day, 2*day + time.Hour, true},
		"and the part is old all the same": {-2 * day, 4 * day, false},
		"the machine's is behind":          {2 * day, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder := sendPart(t, dir)
			stages, err := filepath.Glob(filepath.Join(dir, "staging", "up-*"))
			if err != nil || len(stages) != 1 {
				t.Fatalf("uploads %v, %v", stages, err)
			}
			stage, then := stages[0], time.Now().Add(-test.age)
			for _, path := range []string{filepath.Join(stage, "00001"), stage} {
				if err := os.Chtimes(path, then, then); err != nil {
					t.Fatal(err)
				}
			}
			sessions := uploads.New(uploads.Config{
				Records: sqlstoretest.SQLite(t), Objects: folder, Stale: day, Now: func() time.Time { return time.Now().Add(test.records) },
			})
			if err := sessions.AbortStale(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(stage); (err == nil) != test.stays {
				t.Errorf("the upload: %v, want it to stay: %v", err, test.stays)
			}
		})
	}
}
