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
	for _, want := range []string{"orders.csv: orders, 2 rows, 2 columns", "integer", `"plum", "lime"`} {
		if !strings.Contains(shown.Stdout, want) {
			t.Errorf("no %s in %s", want, shown.Stdout)
		}
	}
	if !strings.Contains(shown.Stderr, "nothing was stored") {
		t.Errorf("said %s", shown.Stderr)
	}
	if got := i.run(e2etest.ExitOK, append(args, "--dry-run", "--header-row", "0")...); !strings.Contains(got.Stdout, "3 rows, 2 columns") || !strings.Contains(got.Stdout, "column_1") {
		t.Errorf("without a header: %s", got.Stdout)
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
	wrong := i.run(e2etest.ExitUsage, append(args, "--encoding", "ebcdic", "--delimiter", "ab", "--header-row", "x", "--retype", "id", "--retype", "item=colour")...)
	for _, flag := range []string{"--encoding", "--delimiter", "--header-row", "--retype must be COLUMN=TYPE", "--retype item must be text"} {
		if !strings.Contains(wrong.Stderr, flag) {
			t.Errorf("nothing about %s: %s", flag, wrong.Stderr)
		}
	}
}

// TestIngestIntoNamespace makes a dataset of each file, and of each table of a file.
func TestIngestIntoNamespace(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("orders.csv", "id;price\n1;2.5\n2;3\n")
	i.write("our items.csv", "code,name\n007,plum\n008,lime\n")
	i.write("shop.json", `{"people":[{"name":"Ann"},{"name":"Bo"}],"cities":[{"city":"Oslo"}]}`)
	i.write("orders.ndjson", `{"id":1}`)
	got := i.run(e2etest.ExitOK, "ingest", "orders.csv", "our items.csv", "shop.json", "--namespace", "shop")
	for _, want := range []string{"alice/shop/orders: 2 rows, 2 columns", "alice/shop/our_items: 2 rows", "alice/shop/shop_people: 2 rows", "alice/shop/shop_cities: 1 row,"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("no %s in %s", want, got.Stdout)
		}
	}
	if states := i.states(); len(states) > 0 {
		t.Errorf("left %v", states)
	}
	i.run(e2etest.ExitNotFound, "datasets", "shop/shop")
	retyped := i.run(e2etest.ExitOK, "ingest", "orders.csv", "--dataset", "shop/orders", "--mode", "replace", "--retype", "id=text", "--delimiter", ";")
	if !strings.Contains(retyped.Stdout, "id      text") {
		t.Errorf("retyped: %s", retyped.Stdout)
	}
	one := i.run(e2etest.ExitOK, "ingest", "shop.json", "--dataset", "shop/towns", "--sheet", "Cities")
	if !strings.Contains(one.Stdout, "alice/shop/towns: 1 row,") {
		t.Errorf("one table: %s", one.Stdout)
	}
	for want, args := range map[string][]string{
		"one dataset orders for orders.csv and orders.ndjson": {"orders.csv", "orders.ndjson", "--namespace", "shop"},
		"--dataset and --namespace":                           {"orders.csv", "--namespace", "shop", "--dataset", "shop/orders"},
		"--dataset or --namespace":                            {"orders.csv"},
		"which must be 1 to":                                  {"orders.csv", "--namespace", "a b"},
	} {
		if got := i.run(e2etest.ExitUsage, append([]string{"ingest"}, args...)...); !strings.Contains(got.Stderr, want) {
			t.Errorf("no %s in %s", want, got.Stderr)
		}
	}
}
