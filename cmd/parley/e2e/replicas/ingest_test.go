package replicas

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/logtest"
)

// TestIngestGoesOnElsewhere kills the server that a client ingests a file at, while it reads
// the file. The same command at another server's address resumes: no rows are doubled.
func TestIngestGoesOnElsewhere(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	r := newReplicas(t)
	reading := make(chan struct{}, 1)
	r.stall = func(q *http.Request) bool {
		found := q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/uploads/") && !q.URL.Query().Has("uploadId")
		if found {
			select {
			case reading <- struct{}{}:
			default:
			}
		}
		return found
	}
	first := r.start(t.TempDir())
	const rows = 1000
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "orders.csv"), []byte(e2etest.CSV(rows)), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(c e2etest.Client) []string {
		return []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + first.Token, "XDG_CACHE_HOME=" + filepath.Join(dir, "cache")}
	}
	ingest := []string{"ingest", "orders.csv", "--dataset", "shop/orders"}
	cmd := e2etest.Command(t, dir, at(first), ingest...)
	stderr := &logtest.Buffer{}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reading
	second := r.start(t.TempDir())
	first.Signal(syscall.SIGKILL)
	first.Wait()
	r.mu.Lock()
	r.stall = nil
	r.mu.Unlock()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != e2etest.ExitUnavailable || !strings.Contains(stderr.String(), "which the server may complete: ") || !strings.Contains(stderr.String(), "run the same command again to resume") {
		t.Errorf("exit code %d: %s", code, stderr)
	}

	// The second server does not wait for the end of the first one's lease.
	db, err := sqlx.Open("postgres", r.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(`UPDATE leases SET expires_at = 0 WHERE name LIKE 'ingestion/%'`); err != nil {
		t.Fatal(err)
	}
	got := e2etest.RunCommand(t, dir, at(second), ingest...)
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, fmt.Sprintf("alice/shop/orders: %d rows", rows)) {
		t.Errorf("at the other server: %+v", got)
	}
	second.Token = first.Token
	if count := second.Count("shop/orders"); count != rows {
		t.Errorf("%d rows, want %d", count, rows)
	}
	if all := second.Settled("shop/orders"); len(all) != 1 {
		t.Errorf("ingestions: %+v", all)
	}
}
