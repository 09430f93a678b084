package ingest_test

import (
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/storage/datasets/ingest"
)

// pieces are what generated values are made of: what parsers trip over.
var pieces = []string{"", "", "0", "7", "-12", "007", "+5", "1.5", ".5", "5.", "1e3", "1e999", "nan", "-inf", "1_0", "true", "FALSE", "t", "null",
	"2024-02-29", "2023-02-29", "2024/1/5", "2024-13-01", "31/12/2024", "1/2/2024", "1.2.2024", "10:30", "24:00", "10:30:00.123456", "9:30",
	"2024-01-31 10:30", "2024-01-31T10:30:00", "2024-01-31 10:30:00.1234567", "2024-01-31T10:30:00Z", "2024-01-31 10:30:00+02", "2024-01-31 10:30+02:00",
	"9223372036854775807", "9223372036854775808", "99999999999999999999999999999999999999", "123456789012345678901234567890123456789",
	"x", "é", "日本", "😀", " ", " 5", "5 ", "a,b", "a;b", "a\tb", "a|b", "\"", "\"\"", "say \"hi\"", "line\nbreak", "cr\r\nlf", "'", "\\", "\\N", "#", "NULL", "{}", "[1]",
}

// table makes a header and rows. Each column keeps to few pieces, so that all
// types come up.
func table(r *rand.Rand) (header []string, rows [][]string) {
	columns := 1 + r.IntN(6)
	kinds := make([][]string, columns)
	for i := range columns {
		header = append(header, fmt.Sprintf("c%d", i))
		for range 1 + r.IntN(3) {
			kinds[i] = append(kinds[i], pieces[r.IntN(len(pieces))])
		}
	}
	for range 1 + r.IntN(30) {
		row := make([]string, columns)
		for i := range row {
			row[i] = kinds[i][r.IntN(len(kinds[i]))]
			if r.IntN(5) == 0 {
				row[i] = ""
			}
		}
		rows = append(rows, row)
	}
	return header, rows
}

// What goes in comes out: text as it was, and typed values as DuckDB itself
// reads that text as that type.
func TestCSVRoundTrip(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for seed := range uint64(raced(fulltest.Count(25, 100))) {
		r := rand.New(rand.NewPCG(seed, 1))
		header, rows := table(r)
		var content strings.Builder
		w := csv.NewWriter(&content)
		if len(header) > 1 {
			// One column has no separator to tell it by.
			w.Comma = []rune{',', ';', '\t', '|'}[r.IntN(4)]
		}
		w.UseCRLF = r.IntN(3) == 0
		w.Write(header)
		for _, row := range rows {
			if len(row) == 1 && row[0] == "" {
				// The writer's blank line is no row; say that there is one.
				w.Flush()
				content.WriteString("\"\"\n")
				continue
			}
			w.Write(row)
		}
		w.Flush()
		// Rows without a value are not read.
		rows = slices.DeleteFunc(rows, func(row []string) bool { return len(row) > 1 && strings.Trim(strings.Join(row, ""), " ") == "" })
		result, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.csv", content.String())}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, content.String())
		}
		// The writer turns line ends within fields into CR LF where it uses it.
		if w.UseCRLF {
			for _, row := range rows {
				for i := range row {
					row[i] = strings.ReplaceAll(strings.ReplaceAll(row[i], "\r\n", "\n"), "\n", "\r\n")
				}
			}
		}
		l.compare(seed, result, rows)
	}
}

// compare reads a result back beside the text it came from.
func (l *setting) compare(seed uint64, result ingest.Result, rows [][]string) {
	l.t.Helper()
	got, err := l.db.Query("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (" + ingest.Query([]string{result.Files[0].Path}, result.Columns) + ")")
	if err != nil {
		l.t.Fatal(err)
	}
	defer got.Close()
	n := 0
	for ; got.Next(); n++ {
		values := make([]sql.NullString, len(result.Columns))
		targets := make([]any, len(values))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := got.Scan(targets...); err != nil {
			l.t.Fatal(err)
		}
		for i, v := range values {
			want := l.cast(rows[n][i], result.Columns[i].Type)
			if v != want {
				l.t.Fatalf("seed %d, row %d, %v: got %q, want %q", seed, n, result.Columns[i], v.String, want.String)
			}
		}
	}
	if n != len(rows) {
		l.t.Fatalf("seed %d: got %d rows, want %d", seed, n, len(rows))
	}
}

// cast has DuckDB read a text as a type and write it again.
func (l *setting) cast(text, typ string) (out sql.NullString) {
	l.t.Helper()
	if strings.Trim(text, " ") == "" || typ == "NULL" || slices.Contains([]string{"null", "NULL", `\N`}, text) && typ != "VARCHAR" {
		return out
	}
	query := "SELECT CAST(TRY_CAST(? AS " + typ + ") AS VARCHAR)"
	if typ == "DATE" && strings.ContainsAny(text, "/.") && text[4] != '/' {
		query = "SELECT CAST(CAST(strptime(translate(?, '.', '/'), '%d/%m/%Y') AS DATE) AS VARCHAR)"
	}
	if err := l.db.QueryRow(query, text).Scan(&out); err != nil {
		l.t.Fatalf("%q as %s: %v", text, typ, err)
	}
	if !out.Valid {
		l.t.Errorf("%q is no %s to DuckDB", text, typ)
	}
	return out
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for seed := range uint64(raced(fulltest.Count(25, 100))) {
		r := rand.New(rand.NewPCG(seed, 2))
		var rows []map[string]any
		for range 1 + r.IntN(20) {
			row := map[string]any{"id": len(rows)}
			for i := range r.IntN(5) {
				row[fmt.Sprintf("c%d", i)] = value(r, int(seed)+i, 0)
			}
			rows = append(rows, row)
		}
		content := mustJSON(t, rows)
		name := "x.json"
		if r.IntN(2) == 0 {
			name = "x.ndjson"
			var lines strings.Builder
			for _, row := range rows {
				lines.WriteString(mustJSON(t, row) + "\n")
			}
			content = lines.String()
		}
		result, err := l.run(ingest.Job{Sources: []ingest.Source{l.file(name, content)}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, content)
		}
		for n, line := range strings.Split(l.rows(result.Columns, result), "\n") {
			var got map[string]any
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, c := range result.Columns {
				var want any = rows[n]
				for _, key := range strings.Split(c.Name, ".") {
					object, _ := want.(map[string]any)
					want = object[key]
				}
				g := got[c.Name]
				text, isText := want.(string)
				if isText && c.Type != "VARCHAR" {
					want = l.cast(text, c.Type).String
				}
				if c.Type == "VARCHAR" && want != nil && !isText {
					// Values of several types became text: their JSON.
					want = mustJSON(t, want)
				}
				if mustJSON(t, g) != mustJSON(t, want) && !(c.Type == "VARCHAR" && sameJSON(g, want)) && c.Type != "VARCHAR[]" {
					t.Fatalf("seed %d, row %d, %v: got %s, want %s", seed, n, c, mustJSON(t, g), mustJSON(t, want))
				}
			}
		}
	}
}

// value makes a JSON value; column decides what sort it mostly is.
func value(r *rand.Rand, column, depth int) any {
	sort := column % 6
	if r.IntN(12) == 0 {
		sort = r.IntN(6)
	}
	switch {
	case r.IntN(8) == 0:
		return nil
	case sort == 0:
		return r.IntN(1000) - 500
	case sort == 1:
		return float64(r.IntN(1000)) / 8
	case sort == 2:
		return r.IntN(2) == 0
	case sort == 3 || depth > 2:
		return pieces[r.IntN(len(pieces))]
	case sort == 4:
		list := []any{}
		for range r.IntN(4) {
			list = append(list, value(r, column/6, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for i := range r.IntN(3) {
		object[fmt.Sprintf("k%d", i)] = value(r, column/6+i, depth+1)
	}
	return object
}

// sameJSON compares two texts of JSON, whose numbers may be written differently.
func sameJSON(a, b any) bool {
	var values [2]any
	for i, v := range []any{a, b} {
		text, ok := v.(string)
		if !ok || json.Unmarshal([]byte(text), &values[i]) != nil {
			return false
		}
	}
	return fmt.Sprint(values[0]) == fmt.Sprint(values[1])
}
