package cli

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
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

// TestDryRunRefuses has what the ingestion refuses refused by the dry run, in the same words.
func TestDryRunRefuses(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	i := newIngester(t)
	i.write("orders.csv", "id,item\n1,plum\n")
	i.write("people.csv", "name,born\nAnn,1990-01-02\n")
	i.write("more.csv", "id,item,price\n2,lime,3.5\n")
	i.write("euro.csv", "id,price\n1,5 €\n")
	i.write("dollar.csv", "id,price\n1,$5\n")
	i.write("two.json", `{"a":[{"x":1}],"b":[{"y":2}]}`)
	i.run(e2etest.ExitOK, "ingest", "orders.csv", "--dataset", "shop/orders")
	i.run(e2etest.ExitOK, "ingest", "two.json", "--dataset", "shop/two")
	i.run(e2etest.ExitOK, "ingest", "people.csv", "--dataset", "shop/two_b", "--mode", "replace")
	for refused, args := range map[string][]string{
		"people.csv has no column of the dataset":   {"people.csv", "--dataset", "shop/orders"},
		"orders.csv has a column \"id\" and people": {"orders.csv", "people.csv", "--dataset", "shop/new"},
		"in € in euro.csv and in $ in dollar.csv":   {"euro.csv", "dollar.csv", "--dataset", "shop/new"},
		"two.json (b) has no column of the dataset": {"two.json", "--dataset", "shop/two"},
	} {
		args = append([]string{"ingest"}, args...)
		tried := i.run(e2etest.ExitFailed, append(args, "--dry-run")...)
		done := i.run(e2etest.ExitFailed, args...)
		if !strings.Contains(tried.Stderr, refused) || !strings.Contains(done.Stderr, refused) {
			t.Errorf("%s\ntried: %sdone: %s", refused, tried.Stderr, done.Stderr)
		}
	}
	got := i.run(e2etest.ExitOK, "ingest", "orders.csv", "more.csv", "--union", "--dataset", "shop/orders", "--dry-run")
	if !strings.Contains(got.Stdout, "orders.csv, more.csv: orders, 2 rows, 3 columns") || !strings.Contains(got.Stderr, "columns added: price") {
		t.Errorf("files together: %s%s", got.Stdout, got.Stderr)
	}
	i.run(e2etest.ExitOK, "ingest", "people.csv", "--dataset", "shop/orders", "--mode", "replace", "--dry-run")
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
