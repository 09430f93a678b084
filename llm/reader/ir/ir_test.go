package ir_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/internal/locale"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

var now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

// TestSQL prints queries over the shop. @table.column stands for a column and #table
// for a table.
func TestSQL(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	values := []ir.Value{
		{Text: "web", Exact: true, Cells: map[int][]string{catalogtest.Column(cat, "orders", "channel"): {"web"}}},
		{Kind: ir.PeriodValue, Text: "2024", From: "2024-01-01", To: "2025-01-01"},
		{Kind: ir.NumberValue, Text: "12.5"},
		{Text: "o'brien"},
		{Kind: ir.MonthValue, Text: "3"},
	}
	for _, test := range []struct{ query, want string }{
		{"select count * from #orders where @orders.channel = v0", `SELECT count(*) AS "count" FROM "orders" WHERE "channel" = 'web'`},
		// The many side of a link is a condition, not a join that repeats rows.
		{"select @customers.name where @orders.amount > v2", `SELECT "name" FROM "customers" WHERE "customer_id" IN (SELECT "customer_id" FROM "orders" WHERE "amount" > 12.5)`},
		{"select sum @orders.amount where @products.category = v3",
			`SELECT sum("amount") AS "total_amount" FROM "orders" WHERE "order_id" IN (SELECT "order_items"."order_id" FROM "order_items" JOIN "products" ON "order_items"."product_id" = "products"."product_id" WHERE contains(lower(CAST("products"."category" AS VARCHAR)), 'o''brien'))`},
		// The one side is joined.
		{"select sum @orders.amount where @customers.city = v3", `SELECT sum("orders"."amount") AS "total_amount" FROM "orders" JOIN "customers" ON "orders"."customer_id" = "customers"."customer_id" WHERE contains(lower(CAST("customers"."city" AS VARCHAR)), 'o''brien')`},
		// No row is summed or counted twice.
		{"select @products.category sum @orders.amount group @products.category",
			`SELECT "category" , sum("amount") AS "total_amount" FROM (SELECT DISTINCT "orders"."order_id" AS row_key, "products"."category" AS "category", "orders"."amount" AS "amount" FROM "products" JOIN "order_items" ON "order_items"."product_id" = "products"."product_id" JOIN "orders" ON "order_items"."order_id" = "orders"."order_id") AS distinct_rows GROUP BY "category" ORDER BY sum("amount") DESC NULLS LAST, "category"`},
		{"select @products.category count * from #orders group @products.category",
			`SELECT "products"."category", count(DISTINCT "orders"."order_id") AS "count" FROM "products" JOIN "order_items" ON "order_items"."product_id" = "products"."product_id" JOIN "orders" ON "order_items"."order_id" = "orders"."order_id" GROUP BY "products"."category" ORDER BY count(DISTINCT "orders"."order_id") DESC NULLS LAST, "products"."category"`},
		// Dates are compared with periods.
		{"select count * from #orders where @orders.ordered_at = v1", `SELECT count(*) AS "count" FROM "orders" WHERE ("ordered_at" >= DATE '2024-01-01' AND "ordered_at" < DATE '2025-01-01')`},
		{"select count * from #orders where @orders.ordered_at > v1", `SELECT count(*) AS "count" FROM "orders" WHERE "ordered_at" >= DATE '2025-01-01'`},
		{"select count * from #orders where @orders.ordered_at < today", `SELECT count(*) AS "count" FROM "orders" WHERE "ordered_at" < DATE '2025-06-15'`},
		{"select count * from #orders where monthof @orders.ordered_at = v4", `SELECT count(*) AS "count" FROM "orders" WHERE month("ordered_at") = 3`},
		{"select month @orders.ordered_at sum @orders.amount group month @orders.ordered_at",
			`SELECT CAST(date_trunc('month', "ordered_at") AS DATE) AS "month", sum("amount") AS "total_amount" FROM "orders" GROUP BY CAST(date_trunc('month', "ordered_at") AS DATE) ORDER BY CAST(date_trunc('month', "ordered_at") AS DATE)`},
		{"select weekday @orders.ordered_at count * from #orders group weekday @orders.ordered_at",
			`SELECT dayname("ordered_at") AS "weekday", count(*) AS "count" FROM "orders" GROUP BY dayname("ordered_at") ORDER BY min(isodow("ordered_at"))`},
		// Texts that read as numbers are compared as such, and NULL wins nothing.
		{"select @products.title order @products.price desc limit k1", `SELECT "title", TRY_CAST(regexp_extract(translate(replace("price", ',', ''), '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE) AS "price" FROM "products" ORDER BY TRY_CAST(regexp_extract(translate(replace("price", ',', ''), '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE) DESC NULLS LAST, "title" LIMIT 1`},
		// Alternatives on one column bind tighter than AND.
		{"select count * from #orders where @orders.amount > v2 and @orders.channel = v0 or @orders.channel = v3",
			`SELECT count(*) AS "count" FROM "orders" WHERE "amount" > 12.5 AND ("channel" = 'web' OR contains(lower(CAST("channel" AS VARCHAR)), 'o''brien'))`},
		{"select @customers.name where @customers.customer_id notin ( select @orders.customer_id )", `SELECT "name" FROM "customers" WHERE "customer_id" NOT IN (SELECT "customer_id" FROM "orders" WHERE "customer_id" IS NOT NULL)`},
		{"select @customers.name where @customers.newsletter = true", `SELECT "name" FROM "customers" WHERE "newsletter" = 'yes'`},
		{"select pct @orders.channel = v0 from #orders", `SELECT (100.0 * count(*) FILTER (WHERE "channel" = 'web') / nullif(count(*), 0)) AS "percent", count(*) FILTER (WHERE "channel" = 'web') AS "__count with channel “web”", count(*) AS "__count in all" FROM "orders"`},
		{"select sum @order_items.quantity times @order_items.unit_price", `SELECT sum(("quantity" * "unit_price")) AS "total_quantity_times_unit_price" FROM "order_items"`},
		{"select @orders.channel @orders.order_id order @orders.amount desc limit k2 each @orders.channel",
			`SELECT "channel", "order_id", "amount" AS "amount" FROM "orders" QUALIFY row_number() OVER (PARTITION BY "channel" ORDER BY "amount" DESC NULLS LAST, "channel", "order_id") <= 2`},
		// The measure stands beside the label, but in queries within others, in sets, and where rows are distinct or chosen by their place.
		{"select @orders.channel group @orders.channel order sum @orders.amount desc limit k3",
			`SELECT "channel", sum("amount") AS "total_amount" FROM "orders" GROUP BY "channel" ORDER BY sum("amount") DESC NULLS LAST, "channel" LIMIT 3`},
		{"select @orders.channel sum @orders.amount group @orders.channel order sum @orders.amount desc limit k3",
			`SELECT "channel", sum("amount") AS "total_amount" FROM "orders" GROUP BY "channel" ORDER BY sum("amount") DESC NULLS LAST, "channel" LIMIT 3`},
		{"select distinct @orders.channel order @orders.amount desc limit k1", `SELECT DISTINCT "channel" FROM "orders" ORDER BY "amount" DESC NULLS LAST, "channel" LIMIT 1`},
		{"select * from #orders order @orders.amount desc limit k1", `SELECT * FROM "orders" ORDER BY "amount" DESC NULLS LAST LIMIT 1`},
		{"select @orders.channel order rowid desc limit k1", `SELECT "channel" FROM (SELECT *, row_number() OVER () AS row_no FROM "orders") AS "orders" ORDER BY row_no DESC NULLS LAST LIMIT 1`},
		{"select count * from #orders where @orders.order_id = ( select @orders.order_id order @orders.amount desc limit k1 )",
			`SELECT count(*) AS "count" FROM "orders" WHERE "order_id" = (SELECT "order_id" FROM "orders" ORDER BY "amount" DESC NULLS LAST, "order_id" LIMIT 1)`},
		{"select @orders.channel order @orders.amount desc limit k1 union select @orders.status", `(SELECT "channel" FROM "orders" ORDER BY "amount" DESC NULLS LAST, "channel" LIMIT 1) UNION SELECT "status" FROM "orders"`},
		{"select @orders.channel median @orders.amount group @orders.channel", `SELECT "channel", median("amount") AS "median_amount" FROM "orders" GROUP BY "channel" ORDER BY median("amount") DESC NULLS LAST, "channel"`},
		{"select median @products.price", `SELECT median(TRY_CAST(regexp_extract(translate(replace("price", ',', ''), '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE)) AS "median_price" FROM "products"`},
		{"select @customers.name order @customers.signed_up_on asc limit k1 nth k2", `SELECT "name", "signed_up_on" AS "signed_up_on" FROM "customers" ORDER BY "signed_up_on" NULLS LAST, "name" LIMIT 1 OFFSET 1`},
		{"select @orders.channel @orders.order_id order @orders.amount desc limit k1 nth k2 each @orders.channel",
			`SELECT "channel", "order_id", "amount" AS "amount" FROM "orders" QUALIFY row_number() OVER (PARTITION BY "channel" ORDER BY "amount" DESC NULLS LAST, "channel", "order_id") = 2`},
		{"select @orders.channel @orders.order_id order @orders.amount desc limit k2 nth k3 each @orders.channel",
			`SELECT "channel", "order_id", "amount" AS "amount" FROM "orders" QUALIFY row_number() OVER (PARTITION BY "channel" ORDER BY "amount" DESC NULLS LAST, "channel", "order_id") BETWEEN 3 AND 4`},
		// Conditions of one aggregate, queries as operands, and chains of arithmetic.
		{"select max @orders.amount - avg @orders.amount % avg @orders.amount", `SELECT (100.0 * (max("amount") - avg("amount")) / nullif(avg("amount"), 0)) AS "percent" FROM "orders"`},
		{"select ( select sum @orders.amount ) - ( select avg @order_items.quantity )", `SELECT ((SELECT sum("amount") AS "total_amount" FROM "orders") - (SELECT avg("quantity") AS "average_quantity" FROM "order_items")) AS "difference"`},
		{"select avg ( select count * from #orders group @orders.customer_id )", `SELECT (SELECT avg(figure) FROM (SELECT count(*) AS "count" FROM "orders" GROUP BY "customer_id") AS figures (figure)) AS "average_count"`},
		{"select count ( select @customers.country group @customers.country having count * > k3 )", `SELECT (SELECT count(*) FROM (SELECT "country" FROM "customers" GROUP BY "country" HAVING count(*) > 3) AS found) AS "count"`},
		{"select @customers.country group @customers.country having sum @orders.amount > ( select avg ( select sum @orders.amount group @customers.country ) )", `SELECT "customers"."country" FROM "customers" JOIN "orders" ON "orders"."customer_id" = "customers"."customer_id" GROUP BY "customers"."country" HAVING sum("orders"."amount") > (SELECT (SELECT avg(figure) FROM (SELECT sum("orders"."amount") AS "total_amount" FROM "orders" JOIN "customers" ON "orders"."customer_id" = "customers"."customer_id" GROUP BY "customers"."country") AS figures (figure)) AS "average_total_amount") ORDER BY "customers"."country"`},
		{"select @order_items.item_id @order_items.quantity plus @order_items.unit_price plus @order_items.quantity of @order_items.unit_price", `SELECT "item_id", (100.0 * (("quantity" + "unit_price") + "quantity") / nullif("unit_price", 0)) AS "percent" FROM "order_items"`},
		{"select avg @order_items.quantity gap @order_items.unit_price", `SELECT avg(abs("quantity" - "unit_price")) AS "average_quantity_gap_unit_price" FROM "order_items"`},
		{"select @order_items.quantity gap @order_items.unit_price", `SELECT abs("quantity" - "unit_price") AS "difference" FROM "order_items"`},
		{"select diff count * @orders.channel = v0 vs @orders.ordered_at = v1 from #orders", `SELECT (count(*) FILTER (WHERE "channel" = 'web') - count(*) FILTER (WHERE ("ordered_at" >= DATE '2024-01-01' AND "ordered_at" < DATE '2025-01-01'))) AS "difference", count(*) FILTER (WHERE "channel" = 'web') AS "__count with channel “web”", count(*) FILTER (WHERE ("ordered_at" >= DATE '2024-01-01' AND "ordered_at" < DATE '2025-01-01')) AS "__count in 2024" FROM "orders"`},
		{"select max @orders.ordered_at - min @orders.ordered_at", `SELECT date_diff('day', min("ordered_at"), max("ordered_at")) AS "difference" FROM "orders"`},
		{"select count * from #orders where @orders.status isnull", `SELECT count(*) AS "count" FROM "orders" WHERE "status" IS NULL`},
		{"select weekday @orders.ordered_at count * from #orders group weekday @orders.ordered_at order weekday @orders.ordered_at asc", `SELECT dayname("ordered_at") AS "weekday", count(*) AS "count" FROM "orders" GROUP BY dayname("ordered_at") ORDER BY min(isodow("ordered_at")) NULLS LAST`},
		{"select sum @products.price less @order_items.unit_price times @order_items.quantity", `SELECT sum(((TRY_CAST(regexp_extract(translate(replace("products"."price", ',', ''), '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE) - "order_items"."unit_price") * "order_items"."quantity")) AS "total_price_less_unit_price_times_quantity" FROM "products" JOIN "order_items" ON "order_items"."product_id" = "products"."product_id"`},
		{"select pct @customers.country = v3 from #orders", `SELECT (100.0 * count(*) FILTER (WHERE contains(lower(CAST("customers"."country" AS VARCHAR)), 'o''brien')) / nullif(count(*), 0)) AS "percent", count(*) FILTER (WHERE contains(lower(CAST("customers"."country" AS VARCHAR)), 'o''brien')) AS "__count with country containing “o'brien”", count(*) AS "__count in all" FROM "customers" JOIN "orders" ON "orders"."customer_id" = "customers"."customer_id"`},
		{"select @orders.channel group @orders.channel having pct @orders.status = v3 > v2", `SELECT "channel" FROM "orders" GROUP BY "channel" HAVING (100.0 * count(*) FILTER (WHERE contains(lower(CAST("status" AS VARCHAR)), 'o''brien')) / nullif(count(*), 0)) > 12.5 ORDER BY "channel"`},
	} {
		tokens, err := ir.ParseText(expand(test.query))
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		q, err := ir.Parse(tokens, values)
		if err != nil {
			t.Errorf("%s: %v", test.query, err)
			continue
		}
		got, measure, err := ir.WithMeasure(q, cat, now)
		if plain, _ := ir.SQL(q, cat, now); measure == "" && plain != got && !strings.Contains(got, `AS "__`) || measure != "" && !strings.Contains(got, `AS "`+measure+`" FROM`) {
			t.Errorf("%s\n has the measure %q\n %s", test.query, measure, got)
		}
		if err != nil || got != strings.ReplaceAll(test.want, " ,", ",") {
			t.Errorf("%s\n got %s\nwant %s\n%v", test.query, got, test.want, err)
		}
	}
}

// expand puts numbers in the place of names.
func expand(query string) string {
	cat := catalogtest.Shop()
	words := strings.Fields(query)
	for i, w := range words {
		if name, ok := strings.CutPrefix(w, "@"); ok {
			table, column, _ := strings.Cut(name, ".")
			words[i] = ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(cat, table, column)}.String()
		}
		if name, ok := strings.CutPrefix(w, "#"); ok {
			for n := range cat.Tables {
				if cat.Tables[n].Name == name {
					words[i] = ir.Token{Class: ir.TableRef, N: n}.String()
				}
			}
		}
	}
	return strings.Join(words, " ")
}

// TestMeaningless prints what the grammar allows and no table can answer.
func TestMeaningless(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for _, query := range []string{
		"select sum @customers.name", "select median @customers.name", "select year @orders.amount", "select count *", "select @orders.amount where @orders.ordered_at = k3",
		"select @customers.name union select @customers.name @customers.city", "select @customers.name limit k2 each @customers.city", "select @customers.name limit k1 nth k2",
		"select avg ( select @customers.name )", "select avg ( select @orders.amount @orders.order_id )", "select share count ( select @customers.city )", "select ( select @customers.name ) - ( select @customers.city )",
		"select @orders.channel group @orders.channel having share count * > k3", "select @orders.channel group @orders.channel having max @orders.ordered_at > count *",
	} {
		tokens, err := ir.ParseText(expand(query))
		if err != nil {
			t.Fatal(err)
		}
		q, err := ir.Parse(tokens, nil)
		if err != nil {
			continue
		}
		if got, err := ir.SQL(q, cat, now); err == nil {
			t.Errorf("%s prints %s", query, got)
		}
	}
}

// write makes a random query that the grammar allows, of at most n tokens.
func write(rng *rand.Rand, n int) ([]ir.Token, bool) {
	state := ir.Start()
	var tokens []ir.Token
	for len(tokens) < n {
		allowed := state.Allowed()
		var options []ir.Token
		for w := range ir.Keywords {
			if allowed.Has(ir.Word(w)) {
				options = append(options, ir.Token{Class: ir.Keyword, N: w})
			}
		}
		if allowed.Table {
			options = append(options, ir.Token{Class: ir.TableRef, N: rng.IntN(4)})
		}
		if allowed.Column || allowed.Number || allowed.Date {
			options = append(options, ir.Token{Class: ir.ColumnRef, N: rng.IntN(21)})
		}
		if allowed.Value || allowed.Limit {
			options = append(options, ir.Token{Class: ir.ValueRef, N: rng.IntN(4)})
		}
		next := options[rng.IntN(len(options))]
		var ok bool
		if state, ok = state.Next(next); !ok {
			panic("not allowed: " + next.String())
		}
		if state.Done() {
			return tokens, true
		}
		tokens = append(tokens, next)
	}
	return nil, false
}

// TestRandomQueries writes queries by the grammar. Each is read as a tree that gives
// the same tokens again, and printing it never panics.
func TestRandomQueries(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	rng := rand.New(rand.NewPCG(1, 2))
	values := []ir.Value{{Text: "web"}, {Kind: ir.NumberValue, Text: "7"}, {Kind: ir.PeriodValue, Text: "2024", From: "2024-01-01", To: "2025-01-01"}, {Kind: ir.NumberValue, Text: "3"}}
	printed := 0
	for range 20_000 {
		tokens, ok := write(rng, 40)
		if !ok {
			continue
		}
		q, err := ir.Parse(tokens, values)
		if err != nil {
			continue // a limit that is no number
		}
		again, err := ir.Tokens(q, func(c *ir.Cond, n int) (ir.Token, bool) {
			text := "3"
			if c != nil {
				text = c.Values[n].Text
			}
			for i, v := range values {
				if v.Text == text {
					return ir.Token{Class: ir.ValueRef, N: i}, true
				}
			}
			return ir.Token{}, false
		})
		if err == nil && len(q.Items) == 0 || err == nil && !sameButLimits(ir.Text(tokens), ir.Text(again)) {
			t.Fatalf("%s became %s", ir.Text(tokens), ir.Text(again))
		}
		if _, err := ir.SQL(q, cat, now); err == nil {
			printed++
		}
	}
	if printed < 100 {
		t.Errorf("only %d queries print", printed)
	}
}

// sameButLimits compares queries without their numbers, of which the small ones can be
// written in two ways.
func sameButLimits(a, b string) bool {
	plain := func(s string) string {
		words := strings.Fields(s)
		for i, w := range words {
			if len(w) > 1 && (w[0] == 'k' || w[0] == 'v') && w[1] >= '0' && w[1] <= '9' {
				words[i] = "n"
			}
		}
		return strings.Join(words, " ")
	}
	return plain(a) == plain(b)
}

func FuzzParse(f *testing.F) {
	f.Add("select count * from t0 where c1 = v0 and c2 > k3 order c1 desc limit k1")
	f.Add("select c1 where c2 in ( select c3 ) union select c4")
	cat := catalogtest.Shop()
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := ir.ParseText(text)
		if err != nil {
			return
		}
		for _, token := range tokens {
			if token.Class == ir.ColumnRef && token.N >= len(cat.Columns) || token.Class == ir.TableRef && token.N >= len(cat.Tables) {
				return
			}
		}
		q, err := ir.Parse(tokens, []ir.Value{{Text: "x"}, {Kind: ir.NumberValue, Text: "1"}})
		if err == nil {
			_, _ = ir.SQL(q, cat, now)
			if ir.Describe(q, cat, locale.Numbers{}) == "" {
				t.Errorf("%s has no words", text)
			}
		}
	})
}

// TestDecimalComma prints a column whose texts have a comma before the fraction.
func TestDecimalComma(t *testing.T) {
	t.Parallel()
	cat := catalog.New([]*catalog.Profile{{Name: "bills", Rows: 2, Columns: []catalog.ColumnProfile{
		{Name: "amount", Type: "VARCHAR", Values: []string{"1250,5", "6340,74"}, Complete: true, Distinct: 2, Filled: 2},
	}}}, nil)
	tokens, err := ir.ParseText("select avg c0")
	if err != nil {
		t.Fatal(err)
	}
	q, err := ir.Parse(tokens, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ir.SQL(q, cat, now); err != nil || !strings.Contains(got, `replace(replace("amount", '.', ''), ',', '.')`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestCells prints tests of texts that are never a value, and of members of lists.
func TestCells(t *testing.T) {
	t.Parallel()
	cat := catalog.New([]*catalog.Profile{{Name: "films", Rows: 4, Columns: []catalog.ColumnProfile{
		{Name: "cast", Type: "VARCHAR", Values: []string{"child", "man, child", "NA", "woman"}, Complete: true, Distinct: 4, Filled: 4},
		{Name: "budget", Type: "VARCHAR", Values: []string{"$12", "$7", "unknown", "$9"}, Complete: true, Distinct: 4, Filled: 4},
		{Name: "year", Type: "BIGINT", Values: []string{"1987", "1994", "2001", "2008"}, Complete: true, Distinct: 4, Filled: 4, Least: "1987", Most: "2008"},
	}}}, nil)
	for query, want := range map[string]string{
		"select c0 where c0 isnull":                        `WHERE ("cast" IS NULL OR "cast" IN ('NA'))`,
		"select c0 where c0 notnull":                       `WHERE ("cast" IS NOT NULL AND "cast" NOT IN ('NA'))`,
		"select c0 where c1 isnull":                        `AS DOUBLE) IS NULL`,
		"select c0 where c2 notnull":                       `WHERE "year" IS NOT NULL`,
		"select c0 where c0 like v0":                       `WHERE regexp_matches(lower(CAST("cast" AS VARCHAR)), '\bman')`,
		"select c0 where c0 notlike v0":                    `WHERE NOT regexp_matches(`,
		"select c0 where c0 like v1":                       `WHERE contains(lower(CAST("cast" AS VARCHAR)), 'child')`,
		"select decade c2 count * from t0 group decade c2": `SELECT (CAST("year" AS INTEGER) // 10 * 10) AS "decade", count(*)`,
	} {
		tokens, err := ir.ParseText(query)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ir.Parse(tokens, []ir.Value{{Text: "man"}, {Text: "child"}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ir.SQL(q, cat, now); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v", query, got, err)
		}
	}
	state, _ := ir.Start().Next(ir.KeywordToken("select"))
	state, ok := state.Next(ir.KeywordToken("decade"))
	if !ok || !state.Fits(state.Allowed(), ir.Token{Class: ir.ColumnRef, N: 2}, cat, ir.Value{}) {
		t.Error("no decade of a year")
	}
}
