package rest_test

import (
	"net/http"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/fair"
	"parley/rest"
)

// TestPreparedUploadsReserveMemory refuses the URLs of very many parts while the memory of the user's
// responses is used up, and releases it.
func TestPreparedUploadsReserveMemory(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	reads := fair.New(fair.Config{What: "large answers", Slots: most, SlotsPerUser: most, FreeWeight: 64 << 10})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Reads = reads })
	files := make([]any, 20)
	for i := range files {
		files[i] = map[string]any{"filename": "a.csv", "size": 5 << 30}
	}
	prepare := func(files []any) int {
		return s.post("alice", "/file-upload/prepare", map[string]any{"filesToUpload": files}, nil)
	}
	held := reads.AcquireUnboundedN("alice", most)
	if many, one := prepare(files), prepare([]any{map[string]any{"filename": "a.csv", "size": 5}}); many != http.StatusTooManyRequests || one != http.StatusOK {
		t.Errorf("%d for many parts, %d for one", many, one)
	}
	held.Release()
	if status := prepare(files); status != http.StatusOK {
		t.Errorf("%d with free memory", status)
	}
	if got := reads.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}
