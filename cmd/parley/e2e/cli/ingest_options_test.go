package cli

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/e2etest"
)

// TestIngestDryRun shows what would become of files and stores nothing; the ingestion that
// follows sends no file again.
func TestIngestDryRun(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("orders.csv", "id,item\n1,plum\n2,lime\n")
	args := []string{"ingest", "orders.csv", "--dataset", "shop/orders"}
	shown := i.run(e2etest.ExitOK, append(args, "--dry-run")...)
	for _, want := range []string{"orders.csv: orders, 2 rows, 2 columns", "BIGINT", `"plum", "lime"`} {
		if !strings.Contains(shown.Stdout, want) {
			t.Errorf("no %s in %s", want, shown.Stdout)
		}
	}
	if !strings.Contains(shown.Stderr, "nothing was stored") {
		t.Errorf("said %s", shown.Stderr)
	}
	i.run(e2etest.ExitNotFound, "datasets", "shop/orders")
	if got := i.run(e2etest.ExitOK, append(args, "--dry-run", "--json")...); !strings.Contains(got.Stdout, `"file":"orders.csv","tables":[{"name":"orders"`) {
		t.Errorf("as JSON: %s", got.Stdout)
	}
	if got := i.run(e2etest.ExitOK, args...); !strings.Contains(got.Stderr, "were there already") || !strings.Contains(got.Stdout, "2 rows from orders.csv\n") {
		t.Errorf("afterwards: %s%s", got.Stdout, got.Stderr)
	}
	if got := i.run(e2etest.ExitOK, args...); !strings.Contains(got.Stdout, "2 rows from orders.csv; now 4 rows (was 2)") {
		t.Errorf("appended: %s", got.Stdout)
	}
	wrong := i.run(e2etest.ExitUsage, append(args, "--encoding", "ebcdic", "--delimiter", "ab", "--header-row", "0", "--retype", "id", "--retype", "item=colour")...)
	for _, flag := range []string{"--encoding", "--delimiter", "--header-row", "--retype must be COLUMN=TYPE", "--retype item must be text"} {
		if !strings.Contains(wrong.Stderr, flag) {
			t.Errorf("nothing about %s: %s", flag, wrong.Stderr)
		}
	}
}
