package ingest_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// Names that are too long for a column are cut in every format, and stay distinct, whatever their
// order is. Those of rows that are not in a file are refused.
func TestLongNames(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const cut = 251
	long := strings.Repeat("é", 300)
	fields := []string{long + "1", long + "2", strings.Repeat("é", 256), strings.Repeat("é", cut), "a"}
	hashed := func(name string) string {
		sum := sha256.Sum256([]byte(name))
		return fmt.Sprintf("%s_%x", strings.Repeat("é", cut-9), sum[:4])
	}
	want := []string{hashed(fields[0]), hashed(fields[1]), fields[2], fields[3], "a"}
	const rows = 3
	var columns, cells, keys strings.Builder
	for i, f := range fields {
		fmt.Fprintf(&columns, ", %d AS %q", i, f)
		fmt.Fprintf(&cells, "<td>%s", f)
		fmt.Fprintf(&keys, `,"%s":%d`, f, i)
	}
	line, object := strings.Join(fields, ",")+"\n", "{"+keys.String()[1:]+"}\n"
	sheet := `<worksheet><sheetData><row>`
	for _, f := range fields {
		sheet += `<c t="str"><v>` + f + `</v></c>`
	}
	sheet += "</row>" + strings.Repeat("<row><c><v>0</v></c><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c><c><v>4</v></c></row>", rows) + "</sheetData></worksheet>"
	for name, source := range map[string]ingest.Source{
		"CSV":     l.file("x.csv", line+strings.Repeat("0,1,2,3,4\n", rows)),
		"lines":   l.file("x.ndjson", strings.Repeat(object, rows)),
		"JSON":    l.file("x.json", "["+strings.TrimSuffix(strings.Repeat(object+",", rows), ",")+"]"),
		"SQLite":  l.file("x.db", database(t, "CREATE TABLE x AS WITH n(i) AS (VALUES (1), (2), (3)) SELECT "+columns.String()[2:]+" FROM n")),
		"Parquet": l.parquet("x.parquet", "SELECT "+columns.String()[2:]+" FROM range(3)"),
		"HTML":    l.file("x.html", "<table><tr>"+cells.String()+strings.Repeat("<tr><td>0<td>1<td>2<td>3<td>4", rows)+"</table>"),
		"workbook": l.file("x.xlsx", archive(t, "[Content_Types].xml", "<Types/>",
			"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="worksheet" Target="one.xml"/></Relationships>`,
			"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="r1"/></sheets></workbook>`, "xl/one.xml", sheet)),
	} {
		result, err := l.run(ingest.Job{Sources: []ingest.Source{source}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, c := range result.Columns {
			if c.Name != want[i] || c.Type != "BIGINT" && c.Type != "INTEGER" || domain.CheckColumnName(c.Name) != "" {
				t.Errorf("%s: column %d is %s %s", name, i, c.Name, c.Type)
			}
		}
		got := l.rows(result.Columns, result)
		if first, _, _ := strings.Cut(got, "\n"); len(result.Columns) != len(want) || strings.Count(got, "\n") != rows-1 || !strings.Contains(first, `":0,`) || !strings.Contains(first, `"a":4`) {
			t.Errorf("%s: %d columns, rows %s", name, len(result.Columns), got)
		}
		if got, want := warnings(result), strings.Repeat("the name of the column was cut: it has more than 256 characters\n", 2); got+"\n" != want {
			t.Errorf("%s: warnings %s", name, got)
		}
	}
	_, err := l.run(ingest.Job{Rows: l.file("rows", object).Path})
	if got := refusal(t, err); !strings.Contains(got, "must be at most 256 characters") {
		t.Error(got)
	}
	// The keys of all rows take no more memory than a row.
	var many strings.Builder
	for i := range 18 {
		fmt.Fprintf(&many, "{\"%d%s\":1}\n", i, strings.Repeat("k", 1<<20))
	}
	l.refuses(l.file("keys.ndjson", many.String()), domain.IngestOptions{}, "keys.ndjson, line 16: the keys of the rows are longer than 16777216 bytes together")
}
