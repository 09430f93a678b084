package sqlcheck

import (
	"errors"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/internal/domain"
)

func TestQuestionsAreAllowed(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for _, sql := range datasetstest.Questions {
		if _, err := p.check(sql, plainTables()); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for sql, want := range map[string]string{
		"SELECT totl FROM orders":                               "column `totl` does not exist in `orders`; did you mean `total`?",
		"SELECT o.totl FROM orders o":                           "column `totl` does not exist in `orders`; did you mean `total`?",
		"SELECT price FROM orders":                              "column `price` does not exist in `orders`; its columns are `id`, `customer`, `total`, `day`",
		"SELECT quantty FROM orders, \"order-items.v2\"":        "column `quantty` does not exist in `orders` or `order-items.v2`; did you mean `quantity`?",
		"SELECT nme FROM (SELECT customer AS name FROM orders)": "column `nme` does not exist; did you mean `name`?",
		"WITH x AS (SELECT id FROM orders) SELECT idd FROM x":   "column `idd` does not exist in `x`; did you mean `id`?",
		"SELECT x.id FROM orders o":                             "`x` is no table in the query's FROM; it reads from `o`",
		"SELECT ordrs.* FROM orders":                            "`ordrs` is no table in the query's FROM; did you mean `orders`?",
		"SELECT id":                                             "column `id` does not exist: the query reads from no table",
		"SELECT * FROM ordrs":                                   "table `ordrs` does not exist; did you mean `orders`?",
		"SELECT * FROM users":                                   "table `users` does not exist; the tables are `orders`, `order-items.v2`, `notes`, `new`",
		"SELECT * FROM main.orders":                             "table `main.orders` does not exist; did you mean `orders`?",
		"SELECT * FROM new":                                     "`new` is empty: it has no columns yet",
		"SELECT lenght(customer) FROM orders":                   "function `lenght` does not exist or is not allowed; did you mean `length` or `len`?",
		"SELECT * FROM read_csv('x')":                           "function `read_csv` is not allowed in FROM",
		"SELECT 1; SELECT 2":                                    "write one statement; there are 2",
		"DROP TABLE orders":                                     "only a SELECT statement is allowed",
		"SELECT ?":                                              "parameters such as ? and $1 are not allowed; write the values",
		"SELECT FROM WHERE":                                     `syntax error at or near "WHERE" (at character 12)`,
		"WITH x AS (DELETE FROM orders RETURNING *) SELECT 1":   "only SELECT is allowed in WITH",
		"SELECT customer.upper() FROM orders":                   "call `upper` without anything before its name",
		"SELECT list_aggregate([1], 'smu')":                     "function `smu` does not exist or is not allowed; did you mean `sum`?",
		"SELECT list_aggr([1], lower('SUM'))":                   "`list_aggr` needs a list and the name of an aggregate, such as 'sum'",
		"SHOW TABLES":                                           "SHOW, DESCRIBE and SUMMARIZE are not allowed; only SELECT is",
		"SELECT id FROM orders WHERE id = (SELECT oder_id FROM \"order-items.v2\")": "column `oder_id` does not exist in `order-items.v2`; did you mean `order_id`?",
	} {
		_, err := p.check(sql, plainTables())
		if err == nil || err.Error() != want || !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s:\n got %v\nwant %s", sql, err, want)
		}
	}
}

// A table whose name has a point in it is found when quoted, and the reason
// says so when it is not.
func TestNamesWithPoints(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	tables := []Table{{Name: "sales.2024", Columns: plainTables()[0].Columns}}
	if _, err := p.check(`SELECT id FROM "Sales.2024"`, tables); err != nil {
		t.Error(err)
	}
	_, err := p.check(`SELECT id FROM sales."2024"`, tables)
	if err == nil || err.Error() != `write the table's name in double quotes: "sales.2024"` {
		t.Error(err)
	}
}

// What DuckDB says of a query is told without what is only its own business.
func TestReasonIsClean(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Binder Error: column \"x\" must appear in the GROUP BY clause\n\nLINE 1: select x\n               ^":                                      `column "x" must appear in the GROUP BY clause`,
		"IO Error: Cannot open file \"/var/lib/parley/x.parquet\": No such file":                                                                   `Cannot open file "…": No such file`,
		"Out of Range Error: too big\n\nPossible solutions:\n* Reducing the number of threads (SET threads=X)":                                     "too big",
		"INTERNAL Error: Attempted to dereference unique_ptr that is NULL!\nThis error signals":                                                    "the query engine cannot run this query",
		`Parser Error: Max expression depth limit of 1000 exceeded. Use "SET max_expression_depth TO x" to increase the maximum expression depth.`: "Max expression depth limit of 1000 exceeded.",
		"Binder Error: Pivot column limit of 100000 exceeded. Use SET pivot_limit=X to increase the limit.":                                        "Pivot column limit of 100000 exceeded.",
		"Invalid Input Error: More than one row returned\n\nUse \"SET scalar_subquery_error_on_multiple_rows=false\" to revert.":                   "More than one row returned",
		"Binder Error: Old arrow! Write lambda x: x. \nUse SET lambda_syntax='ENABLE_SINGLE_ARROW' to revert.":                                     "Old arrow! Write lambda x: x.",
		"Out of Memory Error: no room.\nThis limit was set by the 'max_temp_directory_size' setting.\nYou can adjust this":                         "no room.",
		"IO Error: no room (of 10.5 GB). You can, for example, use PRAGMA max_temp_directory_size='10GiB'":                                         "no room (of 10.5 GB).",
		"Invalid Input Error: bad JSON! Try setting format='auto'.":                                                                                "bad JSON!",
		"Conversion Error: Could not convert string 'set the table' to INT32":                                                                      "Could not convert string 'set the table' to INT32",
		"": "the query engine cannot run this query",
	} {
		if got := Reason(message); got != want {
			t.Errorf("%q:\n got %q\nwant %q", message, got, want)
		}
	}
}

// Every function on the list exists, so that the list does not outlive what it
// was checked against; and the worst are not on it.
func TestFunctionList(t *testing.T) {
	t.Parallel()
	e := enginetest.NewParser(t).Engine
	out := enginetest.Run(t, e, "SELECT DISTINCT lower(function_name) AS n FROM duckdb_functions()", 1e4)
	named := enginetest.Run(t, e, "SELECT DISTINCT lower(function_name) AS n FROM duckdb_functions() WHERE list_contains(parameters, 'function_name')", 1e4)
	if len(named.Rows) != len(byName) {
		t.Errorf("functions that take the name of another are %s", named.Rows)
	}
	for _, row := range named.Rows {
		if name := strings.Split(string(row), `"`)[3]; scalars[name] && !byName[name] {
			t.Errorf("%s takes the name of a function", name)
		}
	}
	known := map[string]bool{"->": true, "grouping": true, "grouping_id": true, "unnest": true}
	for _, row := range out.Rows {
		known[strings.TrimSuffix(strings.TrimPrefix(string(row), `{"n":"`), `","__metadata":{"score":1.0}}`)] = true
	}
	for _, list := range []map[string]bool{operators, scalars, aggregates, tableFunctions} {
		if len(list) == 0 {
			t.Fatal("a section of the list is missing")
		}
		for name := range list {
			if !known[name] {
				t.Errorf("%s does not exist", name)
			}
		}
	}
	for _, name := range []string{"read_text", "query", "query_table", "current_setting", "getenv", "sleep_ms", "pg_sleep", "write_log",
		"json_execute_serialized_sql", "json_serialize_plan", "getvariable", "enable_logging", "glob"} {
		if scalars[name] || aggregates[name] || tableFunctions[name] {
			t.Errorf("%s is on the list", name)
		}
	}
}

// The validator alone refuses every trespass, with words that show nothing.
func TestValidatorHolds(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	tables := plainTables()
	for _, sql := range datasetstest.Trespasses {
		_, err := p.check(sql, tables)
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: not refused: %v", sql, err)
			continue
		}
		if message := err.Error(); message == "" || len(message) > 1_000 || strings.Contains(message, "Error:") {
			t.Errorf("%s: refused with %q", sql, message)
		}
	}
}
