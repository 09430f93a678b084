package lake

import (
	"errors"
	"strings"
	"testing"

	"parley/storage"
	"parley/storage/lake/laketest"
)

// questions are statements that people's questions become; all are allowed.
var questions = strings.Split(strings.TrimSpace(`
SELECT * FROM orders
FROM orders
FROM orders SELECT id WHERE total > 5
TABLE orders
SELECT * FROM ORDERS o WHERE O.Total > 5 AND customer LIKE 'a%'
SELECT * FROM "order-items.v2" JOIN orders ON order_id = orders.id
SELECT o.*, i.quantity FROM orders o LEFT JOIN "order-items.v2" i ON i.order_id = o.id
SELECT customer, sum(total) AS spent FROM orders GROUP BY ALL HAVING spent > 5 ORDER BY spent DESC NULLS LAST LIMIT 10 OFFSET 2
SELECT customer, count(*) FILTER (WHERE total > 1), string_agg(id::VARCHAR, ',' ORDER BY id) FROM orders GROUP BY customer ORDER BY 2
SELECT date_trunc('month', day) AS month, avg(total) FROM orders GROUP BY month ORDER BY month
SELECT DISTINCT ON (customer) customer, total FROM orders ORDER BY customer, total DESC
WITH big AS (SELECT * FROM orders WHERE total > 5) SELECT count(*) FROM big
WITH a AS (SELECT id FROM orders), b AS (SELECT id + 1 AS next FROM a) SELECT next FROM b
WITH a(x, y) AS (SELECT id, total FROM orders) SELECT x, y FROM a
WITH orders AS (SELECT * FROM orders WHERE total > 5) SELECT id FROM orders
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 10) SELECT n FROM r
WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM R WHERE n < 10) SELECT max(n) FROM r
SELECT * FROM (WITH x AS (SELECT 1 AS a) SELECT a FROM x) y
SELECT x.a FROM (SELECT total AS a FROM orders) x WHERE x.a > 1
SELECT id, (SELECT max(quantity) FROM "order-items.v2" WHERE order_id = o.id) FROM orders o
SELECT * FROM orders o WHERE EXISTS (SELECT 1 FROM "order-items.v2" i WHERE i.order_id = o.id)
SELECT id FROM orders WHERE id IN (SELECT order_id FROM "order-items.v2")
SELECT id FROM orders UNION ALL SELECT order_id FROM "order-items.v2" ORDER BY id
SELECT id FROM orders EXCEPT SELECT order_id FROM "order-items.v2"
SELECT row_number() OVER (PARTITION BY customer ORDER BY total DESC) AS n, * FROM orders QUALIFY n = 1
SELECT sum(total) OVER w, lag(total, 1, 0) OVER w FROM orders WINDOW w AS (ORDER BY day ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)
SELECT * EXCLUDE (day) REPLACE (total * 2 AS total) RENAME (id AS number) FROM orders
SELECT COLUMNS('tot.*') FROM orders
SELECT COLUMNS(c -> c LIKE 'c%') FROM orders
SELECT max(COLUMNS(*)) FROM orders
SELECT total AS t, t * 2 AS twice FROM orders WHERE t > 1
SELECT list_transform([1, 2], x -> x + id), [x * 2 FOR x IN [1, 2] IF x > 1] FROM orders
SELECT list_reduce([1, 2], lambda a, b: a + b)
SELECT list_aggregate([1, 2], 'SUM'), array_aggregate(['a', 'b'], 'string_agg', '-'), [1, 2].aggregate('max')
SELECT {'a': 1, 'b': [1, 2]}.b[1], MAP {'x': 1}['x'], struct_pack(a := 1)
SELECT CAST(total AS DECIMAL(10, 2)), id::VARCHAR, TRY_CAST(customer AS INTEGER), '{"a":1}'::JSON ->> '$.a' FROM orders
SELECT CASE WHEN total > 5 THEN 'big' ELSE 'small' END AS size, count(*) FROM orders GROUP BY size
SELECT coalesce(NULL, 1), nullif(1, 2), if(true, 1, 2), greatest(1, 2), 1 BETWEEN 0 AND 2, 1 IS DISTINCT FROM 2
SELECT current_date, now(), day + INTERVAL 1 DAY, extract(year FROM day), strftime(day, '%Y'), age(day) FROM orders
SELECT * FROM orders TABLESAMPLE 10%
SELECT * FROM orders USING SAMPLE 3 ROWS
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(n, s) WHERE n = 1
VALUES (1), (2)
SELECT i FROM range(10) r(i)
SELECT * FROM generate_series(1, 3), unnest([1, 2]) u(x)
SELECT unnest([1, 2]) AS x
SELECT o.id, l.x FROM orders o, LATERAL (SELECT o.total * 2 AS x) l
SELECT * FROM orders PIVOT (sum(total) FOR customer IN ('a', 'b'))
SELECT * FROM orders UNPIVOT (value FOR name IN (id, total))
SELECT * FROM orders o SEMI JOIN "order-items.v2" i ON i.order_id = o.id
SELECT * FROM orders ASOF JOIN "order-items.v2" i ON orders.id >= i.order_id
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY total), quantile_cont(total, 0.5), approx_count_distinct(id) FROM orders
SELECT grouping(customer), customer, sum(total) FROM orders GROUP BY ROLLUP (customer)
SELECT regexp_extract(customer, '(\d+)', 1), customer ~ 'x', customer SIMILAR TO 'y', customer ILIKE 'Z%' FROM orders
SELECT text, match(text, 'fox') AS __score FROM notes WHERE match(text, 'fox') > 0.5 ORDER BY __score DESC
SELECT * FROM notes WHERE match(text, 'fox')
SELECT orders FROM orders
SELECT customer COLLATE NOCASE FROM orders ORDER BY customer COLLATE NOCASE
SELECT #1 FROM orders ORDER BY #1
SELECT 1;
SELECT 1; -- that was it
SELECT json_extract('{"a":[1]}', '$.a'), value FROM json_each('[1,2]')
SELECT jaro_winkler_similarity(customer, 'x'), levenshtein(customer, 'y') FROM orders
`), "\n")

func TestQuestionsAreAllowed(t *testing.T) {
	t.Parallel()
	p := newTreeParser(t)
	for _, sql := range questions {
		if _, err := p.check(sql, plainTables()); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// They are not only let through: they run.
func TestQuestionsRun(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for _, sql := range questions {
		if _, err := s.query(t, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	p := newTreeParser(t)
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
		if err == nil || err.Error() != want || !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s:\n got %v\nwant %s", sql, err, want)
		}
	}
}

// A table whose name has a point in it is found when quoted, and the reason
// says so when it is not.
func TestNamesWithPoints(t *testing.T) {
	t.Parallel()
	p := newTreeParser(t)
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
		if got := reason(message); got != want {
			t.Errorf("%q:\n got %q\nwant %q", message, got, want)
		}
	}
}

// Every function on the list exists, so that the list does not outlive what it
// was checked against; and the worst are not on it.
func TestFunctionList(t *testing.T) {
	t.Parallel()
	e := laketest.NewParser(t).Engine
	out := laketest.Run(t, e, "SELECT DISTINCT lower(function_name) AS n FROM duckdb_functions()", 1e4)
	named := laketest.Run(t, e, "SELECT DISTINCT lower(function_name) AS n FROM duckdb_functions() WHERE list_contains(parameters, 'function_name')", 1e4)
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
