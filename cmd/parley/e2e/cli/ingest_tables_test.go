package cli

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// member is a file of an archive, or a sheet of one column.
type member struct{ name, content string }

// writeArchive writes a ZIP archive into the user's folder.
func (i *ingester) writeArchive(name string, members ...member) {
	i.t.Helper()
	var content bytes.Buffer
	archive := zip.NewWriter(&content)
	for _, m := range members {
		entry, err := archive.Create(m.name)
		if err == nil {
			_, err = io.WriteString(entry, m.content)
		}
		if err != nil {
			i.t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		i.t.Fatal(err)
	}
	i.write(name, content.String())
}

// writeBook writes a workbook into the user's folder.
func (i *ingester) writeBook(name string, sheets ...member) {
	i.t.Helper()
	book := excelize.NewFile()
	for _, sheet := range sheets {
		if _, err := book.NewSheet(sheet.name); err != nil {
			i.t.Fatal(err)
		}
		for row, text := range strings.Fields(sheet.content) {
			cell, _ := excelize.CoordinatesToCellName(1, row+1)
			if err := book.SetCellValue(sheet.name, cell, text); err != nil {
				i.t.Fatal(err)
			}
		}
	}
	var content bytes.Buffer
	if err := book.Write(&content); err != nil {
		i.t.Fatal(err)
	}
	i.write(name, content.String())
}

// has checks the values of a dataset's column v.
func (i *ingester) has(dataset, values string) {
	i.t.Helper()
	got := i.run(e2etest.ExitOK, "head", dataset, "-f", "csv", "--sort", "v")
	if text := strings.Join(strings.Fields(got.Stdout), " "); text != "v "+values {
		i.t.Errorf("%s has %s, want %s", dataset, text, values)
	}
}

// TestIngestTablesOfOneName returns tables datasets of their own where their names become the
// same, and the same ones again.
func TestIngestTablesOfOneName(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	i := newIngester(t)
	i.writeBook("book.xlsx", member{"North & South", "v red"}, member{"North South", "v blue"}, member{"データ", "v plum"}, member{"表", "v lime"})
	i.writeArchive("shop.zip", member{"売上.csv", "v\nsale\n"}, member{"顧客.csv", "v\nperson\n"}, member{"items.csv", "v\nitem\n"})
	i.write("shop_items.csv", "v\nother\n")

	got := i.run(e2etest.ExitOK, "ingest", "book.xlsx", "-d", "shop/c")
	if !strings.Contains(got.Stdout, "1 row from book.xlsx: 表\nalice/shop/c_data_32c596de: 1 row,") {
		t.Errorf("said %s", got.Stdout)
	}
	i.has("shop/c_North_South", "red")
	i.has("shop/c_North_South_2", "blue")
	i.has("shop/c_data_e3c8c8e4", "plum")
	i.has("shop/c_data_32c596de", "lime")
	// The order of the sheets does not matter for names in other scripts.
	i.writeBook("book.xlsx", member{"North & South", "v red"}, member{"表", "v lime"}, member{"データ", "v plum"})
	i.run(e2etest.ExitOK, "ingest", "book.xlsx", "-d", "shop/c")
	i.has("shop/c_data_e3c8c8e4", "plum plum")
	i.has("shop/c_data_32c596de", "lime lime")

	i.run(e2etest.ExitOK, "ingest", "shop.zip", "shop_items.csv", "-n", "shop")
	i.has("shop/shop_data_aeac70ad", "sale")
	i.has("shop/shop_data_ae9ccedb", "person")
	i.has("shop/shop_items", "other")
	i.has("shop/shop_items_2", "item")
}

// TestIngestOtherUnit does not add prices in another currency to those of a dataset.
func TestIngestOtherUnit(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("dollars.csv", "v\n$5\n")
	i.write("euros.csv", "v\n€7\n")
	i.run(e2etest.ExitOK, "ingest", "dollars.csv", "-d", "shop/prices")
	got := i.run(e2etest.ExitFailed, "ingest", "euros.csv", "-d", "shop/prices")
	if !strings.Contains(got.Stderr, `column "v" is in $ in the dataset and in € in what is added`) {
		t.Errorf("said %s", got.Stderr)
	}
	i.has("shop/prices", "5")
}

// TestIngestUnreadTable stores the tables that can be read, and fails because of the other.
func TestIngestUnreadTable(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.writeArchive("x.zip", member{"a.csv", "v\n1\n"}, member{"bad.csv", "a,b\n1,2\n3,4,5\n"}, member{"z.csv", "v\n2\n"})
	for _, test := range []struct{ flag, others string }{{"--mode=replace", "stored"}, {"--no-wait", "being ingested"}} {
		got := i.run(e2etest.ExitFailed, "ingest", "x.zip", "-d", "shop/x", test.flag)
		for _, want := range []string{"parley: x.zip: bad was not ingested: ", "\n  " + test.others + ": a in shop/x_a, z in shop/x_z\n"} {
			if !strings.Contains(got.Stderr, want) {
				t.Errorf("%s: no %q in %s", test.flag, want, got.Stderr)
			}
		}
		if test.others == "stored" {
			i.has("shop/x_a", "1")
			i.has("shop/x_z", "2")
		}
	}
	i.run(e2etest.ExitNotFound, "datasets", "shop/x_bad")
	if states := i.states(); len(states) > 0 {
		t.Errorf("left %v", states)
	}
}

// TestIngestTablesAgain goes on after a fault with the table that was left, and adds the
// other one no second time.
func TestIngestTablesAgain(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.writeArchive("x.zip", member{"a.csv", "v\n1\n"}, member{"z.csv", "v\n2\n"})
	i.gate.watch(func(r *http.Request) {
		if strings.Contains(r.URL.Path, "/shop/x_z") {
			panic(http.ErrAbortHandler)
		}
	})
	args := []string{"ingest", "x.zip", "-d", "shop/x"}
	if got := i.run(e2etest.ExitUnavailable, args...); !strings.Contains(got.Stderr, "\n  stored: a in shop/x_a\n  run the same command again to resume\n") {
		t.Errorf("said %s", got.Stderr)
	}
	i.gate.watch(func(*http.Request) {})
	i.run(e2etest.ExitOK, args...)
	i.has("shop/x_a", "1")
	i.has("shop/x_z", "2")
}
