package ingest

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	_ "github.com/duckdb/duckdb-go/v2"

	"parley/cmd/parley/e2e/helpers/fulltest"
)

// FuzzCell holds what DuckDB reads from a cell that is not text against what the
// standard library reads from it.
func FuzzCell(f *testing.F) {
	for _, cell := range []string{"1,234", "1,234,567.5", "1.234,5", "-0,5", "1 234", "1\u202f234,5", "1'234", "(5)", "($1,234.50)", "$5", "-$5.5", "$ -5", "US$7", "5 €",
		"76%", "+4 %", ".5%", "1.234", "−5", "kr 5", "5,5 zł", "yes", "N", "t", "NA", "-", "31/12/2024", "1.2.2024", "12/31/24", "31.12.99", "1/2/2024 3:04 PM", "31/12/2024 10:30:59",
		"Nov 16, 2004", "16-Nov-04", "16. November 2004", "2004-Nov-16", "May 1 2000 12:00AM", "2024-01-02", "2024-01-02 10:30", "10:30", "1e5", "0x5", "1.2.3", "1,2,3", "29-Feb-00", "29-Feb-01"} {
		f.Add(cell)
	}
	db, err := sql.Open("duckdb", "?memory_limit=200MB&threads=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { db.Close() })
	f.Fuzz(func(t *testing.T, cell string) { checkCell(t, db, cell) })
}

// TestCellsOfParts does the same with cells that are put together from parts.
func TestCellsOfParts(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "?memory_limit=200MB&threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	parts := []string{"", "", "", "1", "12", "123", "234", "0", "007", "2024", "24", "99", "31", ",", ",", ".", ".", " ", "\u202f", "'", "-", "−", "+", "(", ")", "$", "€", "%", "EUR", "kr",
		"/", "Nov", "may", "September", ", ", ":", "10:30", " 3:05 PM", "T", "Z", "e5", "nan", "yes"}
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	cells := fulltest.Count(5_000, 30_000)
	for range cells {
		cell := ""
		for range 1 + r.IntN(6) {
			cell += parts[r.IntN(len(parts))]
		}
		if checkCell(t, db, cell) {
			read++
		}
	}
	if read < cells/20 {
		t.Errorf("only %d cells are other than text", read)
	}
}

// checkCell reports whether a cell is other than text.
func checkCell(t *testing.T, db *sql.DB, cell string) bool {
	if cell == "" || !utf8.ValidString(cell) || strings.ContainsRune(cell, 0) {
		return false
	}
	k, form := classifyCell([]byte(cell))
	read := false
	for _, by := range []conventions{{decimal: '.', first: 'd'}, {decimal: ',', first: 'm'}} {
		c := &columnCells{groups: []cellGroup{{kind: k, form: form, count: 1, lines: []int64{1}}}}
		d := decide(c, by)
		if d.typ == typeVarchar || d.typ == typeNull {
			continue
		}
		read = true
		typ, expr := d.sql("c", d.typ)
		var got any
		err := db.QueryRow(fmt.Sprintf("SELECT %s FROM (SELECT CAST(CAST(? AS VARCHAR) AS %s) AS c)", expr, typ), cell).Scan(&got)
		if err != nil {
			t.Fatalf("%q is no %s to DuckDB: %v", cell, d.typ, err)
		}
		if want, ok := valueOf(cell, k, by); ok && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q as %s: DuckDB reads %v, want %v", cell, d.typ, got, want)
		}
	}
	return read
}

// valueOf reads a cell of a kind by the standard library.
func valueOf(cell string, k kind, by conventions) (any, bool) {
	switch {
	case numberKinds.meets(k.set()):
		return numberOf(cell, k, by.decimal)
	case k.set().within(yearLastKinds | kindNamedMonth.set()):
		return dateOf(cell, k, by.first)
	}
	return nil, false
}

func numberOf(cell string, k kind, decimal byte) (any, bool) {
	if k == kindDecimalComma || k == kindPointGroups {
		decimal = ','
	}
	if pointKinds.meets(k.set()) {
		decimal = '.'
	}
	text := ""
	negative := strings.ContainsAny(cell[:strings.IndexAny(cell+"0", "0123456789")], "(−-")
	for _, r := range cell {
		switch {
		case r == rune(decimal):
			text += "."
		case r >= '0' && r <= '9', strings.ContainsAny(cell, "0123456789") && (r == 'e' || r == 'E') && !strings.Contains(cell, "EUR") && k != kindInt:
			text += string(r)
		case k == kindFloat && (r == '-' || r == '+') && strings.ContainsAny(text, "eE"):
			text += string(r)
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || k == kindSpecial {
		return nil, false
	}
	if negative {
		f = -f
	}
	whole := k == kindInt || k == kindCommaGroups || k == kindPointGroups || k == kindSpaceGroups || k == kindComma3 && decimal == '.' || k == kindPoint3 && decimal == ','
	if whole {
		if math.Abs(f) > 1<<53 {
			return nil, false
		}
		return int64(f), true
	}
	return f, true
}

func dateOf(cell string, k kind, first byte) (any, bool) {
	if k == kindDayFirst {
		first = 'd'
	}
	if k == kindMonthFirst {
		first = 'm'
	}
	text := strings.NewReplacer(".", "/", "-", "/").Replace(strings.Trim(cell, " "))
	days := []string{"2/1/2006", "2/1/06"}
	switch {
	case k == kindNamedMonth:
		text = strings.NewReplacer(",", "", ".", "", "-", " ", "/", " ").Replace(strings.Trim(cell, " "))
		days = []string{"Jan 2 2006", "Jan 2 06", "2 Jan 2006", "2 Jan 06", "2006 Jan 2", "January 2 2006", "January 2 06", "2 January 2006", "2 January 06", "2006 January 2"}
	case first == 'm':
		days = []string{"1/2/2006", "1/2/06"}
	}
	for _, day := range days {
		for _, clock := range []string{"", " 15:04", " 15:04:05", " 3:04 PM", " 3:04:05 PM", " 3:04PM", " 3:04:05PM"} {
			at, err := time.Parse(day+clock, upperHalf(text))
			if err == nil {
				return at, true
			}
		}
	}
	return "no date", true
}

// upperHalf writes am and pm in capitals, as the standard library wants them.
func upperHalf(text string) string {
	n := len(text) - 2
	if n > 0 && strings.EqualFold(text[n:], "am") || n > 0 && strings.EqualFold(text[n:], "pm") {
		return text[:n] + strings.ToUpper(text[n:])
	}
	return text
}
