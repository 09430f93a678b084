package reader_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/internal/domain"
	"parley/internal/locale"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/storage/datasets/sqlcheck"
)

// profiles returns tables whose columns are written as name:type=value|value…
func profiles(tables map[string][]string, order ...string) []*catalog.Profile {
	var all []*catalog.Profile
	for _, name := range order {
		p := &catalog.Profile{Name: name, Rows: 12}
		for _, text := range tables[name] {
			column, values, _ := strings.Cut(text, "=")
			at := strings.LastIndex(column, ":")
			c := catalog.ColumnProfile{Name: column[:at], Type: column[at+1:], Values: strings.Split(values, "|"), Complete: true, Filled: p.Rows}
			if values == "#" {
				c.Values = nil
				for i := range p.Rows {
					c.Values = append(c.Values, fmt.Sprint(i+1))
				}
			}
			c.Distinct = int64(len(c.Values))
			p.Columns = append(p.Columns, c)
		}
		all = append(all, p)
	}
	return all
}

// walkCatalogs are tables of all kinds of columns, some with names that queries use
// themselves.
func walkCatalogs() map[string][]*catalog.Profile {
	return map[string][]*catalog.Profile{
		"shop": profiles(map[string][]string{
			"customers":   {"customer_id:BIGINT=#", "name:VARCHAR=Ada Moss|Ben O'Hill|Cleo Park", "city:VARCHAR=Berlin|Rome", "newsletter:VARCHAR=no|yes", "signed_up_on:DATE=2023-01-05|2024-06-30"},
			"orders":      {"order_id:BIGINT=#", "customer_id:BIGINT=1|2|3|4|5", "ordered_at:TIMESTAMP=2024-01-03 10:00:00|2025-05-30 12:30:00", "shipped_on:DATE=2024-01-09|2025-06-02", "status:VARCHAR=Cancelled|Delivered", "amount:DOUBLE=10|250.5", "tax:DECIMAL(9,2)=1.5|20", "paid:BOOLEAN=true|false"},
			"order_items": {"item_id:BIGINT=#", "order_id:BIGINT=1|2|3|4", "product_id:BIGINT=1|2|3", "quantity:INTEGER=1|2|5"},
			"products":    {"product_id:BIGINT=#", "title:VARCHAR=Garden Chair|Oak Table", "price:VARCHAR=$12.50|$1,299.00|$3", "launched:VARCHAR=March 5, 2021|June 7, 2022|May 1, 2023"},
		}, "customers", "orders", "order_items", "products"),
		"odd names": profiles(map[string][]string{
			"distinct_rows": {"row_key:BIGINT=#", "row_no:BIGINT=3|4", "select:VARCHAR=a|b", `say "hi":VARCHAR=x|y`, "group by:DOUBLE=1|2", "count:BIGINT=5|6", "total_count:BIGINT=8"},
			"order":         {"order:BIGINT=#", "row_key:BIGINT=1|2|3", "größe:DOUBLE=1.5|2", "year:BIGINT=1999|2003", "day:DATE=2024-02-29|2023-12-31", "Count:VARCHAR=n|m", "tags:VARCHAR[]="},
		}, "distinct_rows", "order"),
		"races": profiles(map[string][]string{
			"results": {"Pos:VARCHAR=1|2|DNF|4|5|6|7|8|9|10", "driver:VARCHAR=Eve Lind|Finn Roy", "time:VARCHAR=1:07:24|59:12|1:10:01", "gap:TIME=00:01:02|00:00:09", "born:VARCHAR=12 May 1990|3 June 1988", "won:VARCHAR=yes|no", "points:VARCHAR=25|18 pts|−4", "share:DOUBLE=0.5|0.25"},
		}, "results"),
	}
}

// walkValues are values of all kinds, some of them cells.
func walkValues(cat *catalog.Catalog) []ir.Value {
	values := []ir.Value{
		{Kind: ir.NumberValue, Text: "3"}, {Kind: ir.NumberValue, Text: "1250.5"}, {Text: "o'brien"}, {Text: `50% "off"`, Exact: true},
		{Kind: ir.PeriodValue, Text: "2024", From: "2024-01-01", To: "2025-01-01"}, {Kind: ir.PeriodValue, Text: "since May", From: "2025-05-01", To: "2025-06-01"},
		{Kind: ir.MonthValue, Text: "3"}, {Kind: ir.WeekdayValue, Text: "5"}, {Kind: ir.QuarterValue, Text: "4"},
	}
	for i := range cat.Columns {
		if c := &cat.Columns[i]; len(c.Values) > 1 {
			values = append(values, ir.Value{Text: c.Values[1], Exact: true, Cells: map[int][]string{i: c.Values[1:2]}}, ir.Value{Text: c.Values[0], Cells: map[int][]string{i: c.Values[:2]}})
		}
	}
	return values
}

// walk writes a query that the grammar allows, with references of fitting types. choose
// gives a number below n. It gives up after too many tokens.
func walk(cat *catalog.Catalog, values []ir.Value, choose func(n int) int) ([]ir.Token, bool) {
	const long, most = 14, 60
	end := ir.Token{Class: ir.Keyword, N: int(ir.End)}
	var tokens []ir.Token
	for s := ir.Start(); len(tokens) < most; {
		a := s.Allowed()
		options := [3][]ir.Token{}
		for i := range ir.Keywords {
			if t := (ir.Token{Class: ir.Keyword, N: i}); t != end && a.Has(ir.Word(i)) {
				options[0] = append(options[0], t)
			}
		}
		for i := range max(len(cat.Tables), len(cat.Columns)) {
			if t := (ir.Token{Class: ir.TableRef, N: i}); i < len(cat.Tables) && s.Fits(a, t, cat, ir.Value{}) {
				options[1] = append(options[1], t)
			}
			if t := (ir.Token{Class: ir.ColumnRef, N: i}); i < len(cat.Columns) && s.Fits(a, t, cat, ir.Value{}) {
				options[1] = append(options[1], t)
			}
		}
		for i, v := range values {
			if t := (ir.Token{Class: ir.ValueRef, N: i}); s.Fits(a, t, cat, v) {
				options[2] = append(options[2], t)
			}
		}
		var t ir.Token
		switch filled := nonEmpty(options); {
		case a.Has(ir.End) && (len(filled) == 0 || len(tokens) > long || choose(4) == 0):
			t = end
		case len(filled) == 0:
			return nil, false
		default:
			of := filled[choose(len(filled))]
			t = of[choose(len(of))]
		}
		next, ok := s.Next(t)
		if !ok {
			panic("the grammar allows what it does not take: " + ir.Text(append(tokens, t)))
		}
		if next.Done() {
			return tokens, true
		}
		s, tokens = next, append(tokens, t)
	}
	return nil, false
}

func nonEmpty(options [3][]ir.Token) (filled [][]ir.Token) {
	for _, o := range options {
		if len(o) > 0 {
			filled = append(filled, o)
		}
	}
	return filled
}

// database has the tables of some profiles in DuckDB, and as the validator knows them.
func database(t *testing.T, all []*catalog.Profile) (*sql.DB, []sqlcheck.Table) {
	t.Helper()
	d := ducktest.New(t)
	var tables []sqlcheck.Table
	for _, p := range all {
		table := sqlcheck.Table{Name: p.Name}
		var columns []string
		for _, c := range p.Columns {
			table.Columns = append(table.Columns, domain.Column{Name: c.Name, Type: c.Type})
			value := "NULL"
			if len(c.Values) > 1 {
				list := make([]string, len(c.Values))
				for i, v := range c.Values {
					list[i] = ir.Literal(v)
				}
				value = fmt.Sprintf("list_extract([%s], CAST(i %% %d AS INTEGER) + 1)", strings.Join(list, ", "), len(list))
			}
			columns = append(columns, fmt.Sprintf("CAST(%s AS %s) AS %s", value, c.Type, ir.Ident(c.Name)))
		}
		d.Exec(fmt.Sprintf("CREATE TABLE %s AS SELECT %s FROM range(%d) r(i)", ir.Ident(p.Name), strings.Join(columns, ", "), p.Rows))
		tables = append(tables, table)
	}
	return d.DB, tables
}

// TestRandomWalks writes queries at random. Each that is printed is one that the validator of
// queries accepts and that DuckDB runs.
func TestRandomWalks(t *testing.T) {
	t.Parallel()
	for name, all := range walkCatalogs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const tries = 800
			db, tables := database(t, all)
			cat := catalog.New(all, nil)
			values := walkValues(cat)
			rng := rand.New(rand.NewPCG(1, 2))
			printed := 0
			for range tries {
				tokens, ok := walk(cat, values, rng.IntN)
				if !ok {
					continue
				}
				q, err := ir.Parse(tokens, values)
				if err != nil {
					continue
				}
				text, err := ir.SQL(q, cat, now)
				if err != nil {
					continue
				}
				printed++
				if err := accepted(t, db, tables, text); err != nil {
					t.Errorf("%s\n%s\n%v", ir.Text(tokens), text, err)
				}
			}
			if printed < tries/8 {
				t.Errorf("only %d of %d were printed", printed, tries)
			}
			t.Logf("%d of %d were printed", printed, tries)
		})
	}
}

// accepted checks a query as the datasets do, and runs it.
func accepted(t *testing.T, db *sql.DB, tables []sqlcheck.Table, text string) error {
	t.Helper()
	var tree string
	if err := db.QueryRowContext(t.Context(), "SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", text).Scan(&tree); err != nil {
		return err
	}
	if _, err := sqlcheck.Validate(t.Context(), []byte(tree), tables); err != nil {
		return err
	}
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// FuzzSQL prints queries that the grammar allows, chosen by bytes, as SQL and in words.
func FuzzSQL(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte("select the name of each"))
	f.Add([]byte{255, 0, 127, 9, 200, 13, 77, 31, 8, 8, 8, 250, 1, 0, 0, 3})
	type world struct {
		cat    *catalog.Catalog
		values []ir.Value
	}
	var all []world
	for _, name := range []string{"shop", "odd names", "races"} {
		cat := catalog.New(walkCatalogs()[name], nil)
		all = append(all, world{cat, walkValues(cat)})
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		next := func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0])
			choices = choices[1:]
			return c % n
		}
		in := all[next(len(all))]
		tokens, ok := walk(in.cat, in.values, next)
		if !ok {
			return
		}
		q, err := ir.Parse(tokens, in.values)
		if err != nil {
			return
		}
		again, err := ir.Tokens(q, func(*ir.Cond, int) (ir.Token, bool) { return ir.Token{Class: ir.ValueRef}, true })
		if err != nil || len(again) != len(tokens) {
			t.Errorf("%s is read as %s, %v", ir.Text(tokens), ir.Text(again), err)
		}
		if text, err := ir.SQL(q, in.cat, now); (text == "") == (err == nil) {
			t.Errorf("%s is printed as %q, %v", ir.Text(tokens), text, err)
		}
		if ir.Describe(q, in.cat, locale.Numbers{}) == "" {
			t.Errorf("%s is not said in words", ir.Text(tokens))
		}
	})
}
