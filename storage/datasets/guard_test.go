package datasets

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/domain"
)

// guardTables are a shop's data. Customer 4 has no orders, order 16 has no customer and order
// 17 one that does not exist; order 15 has no items.
func guardTables(t testing.TB) []Table {
	t.Helper()
	dir := t.TempDir()
	tables := map[string]string{
		"customers": `(VALUES (1, 'Ann', 'DE', 100), (2, 'Bob', 'DE', 250), (3, 'Cleo', 'FR', 40), (4, 'Dan', 'FR', 60))
			v(id, name, country, credit)`,
		"orders": `(VALUES (11, 1, DATE '2024-01-05', 30.5, 'web'), (12, 1, DATE '2024-02-05', 20, 'shop'), (13, 2, DATE '2024-01-09', 70, 'web'),
			(14, 3, DATE '2024-02-11', 10, 'web'), (15, 3, DATE '2024-02-12', 5, 'shop'), (16, NULL, DATE '2024-03-01', 8, 'web'),
			(17, 99, DATE '2024-03-02', 9, 'web')) v(id, customer_id, day, total, channel)`,
		"items": `(VALUES (11, 1, 'a', 2), (11, 2, 'b', 1), (11, 3, 'b', 4), (12, 1, 'a', 1), (13, 1, 'a', 3), (13, 2, 'c', 1),
			(14, 1, 'c', 6), (16, 1, 'a', 1), (17, 1, 'a', 1)) v(order_id, line, sku, quantity)`,
		"products":    `(VALUES ('a', 'toys', 5), ('b', 'toys', 7), ('c', 'books', 11), ('d', 'books', 13)) v(sku, category, price)`,
		"tickets":     `(VALUES (21, 1, 3), (22, 1, 4), (23, 2, 1), (24, 4, 6), (25, 3, 2)) v(id, customer_id, hours)`,
		"courses":     `(VALUES (1, 'algebra', 6), (2, 'biology', 4), (3, 'chess', 1)) v(id, title, credits)`,
		"students":    `(VALUES (1, 'Eve', 'Bonn', 20), (2, 'Finn', 'Bonn', 30), (3, 'Gil', 'Kiel', 40)) v(id, name, city, age)`,
		"enrollments": `(VALUES (1, 1), (1, 2), (2, 1), (3, 3), (3, 1)) v(student_id, course_id)`,
		"stock":       `(VALUES ('north', 'a', 10), ('north', 'b', 20), ('south', 'a', 30), ('south', 'b', 40)) v(shop, sku, amount)`,
		"sales":       `(VALUES ('north', 'a', 1), ('north', 'a', 2), ('north', 'b', 1), ('south', 'a', 5)) v(shop, sku, sold)`,
		"prices":      `(VALUES ('a', true, 5.0), ('a', false, 4.0), ('b', true, 7.0), ('b', false, 6.5), ('c', true, 11.0)) v(sku, valid, amount)`,
	}
	var all []Table
	for name, rows := range tables {
		all = append(all, parquetTable(t, dir, name, "SELECT * FROM "+rows))
	}
	return all
}

// guardSetup runs statements over guardTables.
type guardSetup struct {
	*setup
	tables []Table
}

func newGuardSetup(t testing.TB) *guardSetup { return &guardSetup{newSetup(t, nil), guardTables(t)} }

func (s *guardSetup) run(t testing.TB, sql string, guard bool) (rows string, result domain.QueryResult, err error) {
	t.Helper()
	result, err = s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, Timeout: 20 * time.Second, Guard: guard})
	var lines []string
	for _, row := range result.Rows {
		lines = append(lines, string(row))
	}
	return strings.Join(lines, "\n"), result, err
}

// Each statement has a wrong result by itself and the right one, which another statement
// without repeated rows computes, when it is guarded.
func TestGuardCorrects(t *testing.T) {
	t.Parallel()
	s := newGuardSetup(t)
	for _, c := range []struct{ name, sql, right, note string }{
		{"a parent's sum after one to many",
			`SELECT sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id`,
			`SELECT sum(total) AS x FROM orders WHERE id IN (SELECT order_id FROM items)`,
			"Each row of `orders` counts once, although several rows of `items` match it."},
		{"grouped by the parent's side",
			`SELECT c.country, sum(c.credit) AS x FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.country ORDER BY 1`,
			`SELECT country, sum(credit) AS x FROM customers WHERE id IN (SELECT customer_id FROM orders) GROUP BY country ORDER BY 1`,
			"Each row of `customers` counts once"},
		{"grouped by the child's side",
			`SELECT i.sku, sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id GROUP BY i.sku ORDER BY i.sku`,
			`SELECT sku, sum(total) AS x FROM (SELECT DISTINCT order_id, sku FROM items) JOIN orders ON order_id = id GROUP BY sku ORDER BY sku`,
			"Each row of `orders` counts once"},
		{"count of the parent",
			`SELECT count(c.id) AS x FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.total > 8`,
			`SELECT count(*) AS x FROM customers c WHERE EXISTS (FROM orders o WHERE o.customer_id = c.id AND o.total > 8)`,
			"Each row of `customers` counts once"},
		{"average over the parent",
			`SELECT avg(c.credit) AS x FROM customers c JOIN orders o ON o.customer_id = c.id`,
			`SELECT avg(credit) AS x FROM customers WHERE id IN (SELECT customer_id FROM orders)`, ""},
		{"median of the parent",
			`SELECT median(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id`,
			`SELECT median(total) AS x FROM orders WHERE id IN (SELECT order_id FROM items)`, ""},
		{"two branches of one parent",
			`SELECT c.country, sum(o.total) AS x, sum(t.hours) AS y FROM customers c JOIN orders o ON o.customer_id = c.id
			 JOIN tickets t ON t.customer_id = c.id GROUP BY c.country ORDER BY c.country`,
			`SELECT country, sum(x) AS x, sum(y) AS y FROM customers
			 JOIN (SELECT customer_id AS a, sum(total) AS x FROM orders GROUP BY ALL) ON a = id
			 JOIN (SELECT customer_id AS b, sum(hours) AS y FROM tickets GROUP BY ALL) ON b = id GROUP BY country ORDER BY country`,
			"Each row of `tickets` counts once, although several rows of `orders` match it."},
		{"two branches and the parent",
			`SELECT sum(c.credit) AS x, sum(o.total) AS y, count(t.id) AS z FROM customers c JOIN orders o ON o.customer_id = c.id JOIN tickets t ON t.customer_id = c.id`,
			`SELECT (SELECT sum(credit) FROM customers WHERE id IN (SELECT customer_id FROM orders) AND id IN (SELECT customer_id FROM tickets)) AS x,
			 (SELECT sum(total) FROM orders WHERE customer_id IN (SELECT customer_id FROM tickets) AND customer_id IN (SELECT id FROM customers)) AS y,
			 (SELECT count(*) FROM tickets WHERE customer_id IN (SELECT customer_id FROM orders)) AS z`, ""},
		{"many to many through a bridge",
			`SELECT sum(c.credits) AS x FROM courses c JOIN enrollments e ON e.course_id = c.id JOIN students s ON s.id = e.student_id WHERE s.city = 'Bonn'`,
			`SELECT 6 + 4 AS x`, "Each row of `courses` counts once, although several rows of `enrollments` match it"},
		{"an average through a bridge",
			`SELECT avg(s.age) AS x FROM students s JOIN enrollments e ON e.student_id = s.id JOIN courses c ON c.id = e.course_id WHERE c.credits > 1`,
			`SELECT (20 + 30 + 40) / 3 AS x`, "Each row of `students` counts once, although several rows of `enrollments` match it."},
		{"a left join",
			`SELECT c.country, sum(c.credit) AS x, sum(o.total) AS y FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.country ORDER BY 1`,
			`SELECT * FROM (VALUES ('DE', 350, 120.5), ('FR', 100, 15.0)) v(country, x, y)`, ""},
		{"a right join",
			`SELECT sum(coalesce(o.total, 0)) AS x, count(i.sku) AS y FROM orders o RIGHT JOIN items i ON o.id = i.order_id JOIN sales s ON s.sku = i.sku`,
			`SELECT 137.5 AS x, 7 AS y`, ""},
		{"USING",
			`SELECT category, sum(price) AS x FROM products JOIN items USING (sku) GROUP BY category ORDER BY category`,
			`SELECT category, sum(price) AS x FROM products WHERE sku IN (SELECT sku FROM items) GROUP BY category ORDER BY category`, ""},
		{"USING with two columns",
			`SELECT sum(amount) AS x, sum(sold) AS y FROM stock JOIN sales USING (shop, sku)`,
			`SELECT 60 AS x, 9 AS y`, ""},
		{"NATURAL",
			`SELECT sum(amount) AS x FROM stock NATURAL JOIN sales`, `SELECT 60 AS x`, ""},
		{"a composite key, grouped",
			`SELECT s.shop, sum(s.amount) AS x FROM stock AS s JOIN sales AS v ON v.shop = s.shop AND v.sku = s.sku GROUP BY s.shop ORDER BY s.shop`,
			`SELECT * FROM (VALUES ('north', 30), ('south', 30)) v(shop, x)`, ""},
		{"names without their datasets",
			`SELECT country, sum(credit) AS x FROM customers, orders WHERE customer_id = customers.id GROUP BY country ORDER BY 1`,
			`SELECT country, sum(credit) AS x FROM customers WHERE id IN (SELECT customer_id FROM orders) GROUP BY country ORDER BY 1`, ""},
		{"HAVING and ORDER BY",
			`SELECT o.channel FROM orders o JOIN items i ON i.order_id = o.id GROUP BY o.channel HAVING sum(o.total) < 130 ORDER BY sum(o.total) DESC`,
			`SELECT channel FROM orders WHERE id IN (SELECT order_id FROM items) GROUP BY channel HAVING sum(total) < 130 ORDER BY sum(total) DESC`, ""},
		{"HAVING and ORDER BY, grouped by the child",
			`SELECT i.sku AS pair FROM orders o JOIN items i ON i.order_id = o.id GROUP BY i.sku HAVING sum(o.total) < 61 ORDER BY avg(o.total) DESC, sum(o.total)`,
			`SELECT sku AS pair FROM (SELECT DISTINCT order_id, sku FROM items) JOIN orders ON order_id = id GROUP BY sku HAVING sum(total) < 61 ORDER BY avg(total) DESC`, ""},
		{"a filter of the aggregate",
			`SELECT sum(o.total) FILTER (WHERE i.sku = 'b') AS x, sum(o.total) AS y FROM orders o JOIN items i ON i.order_id = o.id`,
			`SELECT 30.5 AS x, 147.5 AS y`, ""},
		{"a filter on the child",
			`SELECT sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id WHERE i.quantity >= 1 AND o.channel = 'web'`,
			`SELECT sum(total) AS x FROM orders o WHERE channel = 'web' AND EXISTS (FROM items WHERE order_id = o.id AND quantity >= 1)`, ""},
		{"an expression over two datasets",
			`SELECT sum(i.quantity * p.price) AS x FROM items i JOIN products p ON p.sku = i.sku JOIN sales s ON s.sku = p.sku`,
			`SELECT sum(quantity * price) AS x FROM items JOIN products USING (sku) WHERE sku IN (SELECT sku FROM sales)`, ""},
		{"a column of the result without a name",
			`SELECT round(avg(o.total), 2), count(o.id) FROM orders o JOIN items i ON i.order_id = o.id`,
			`SELECT round(avg(o.total), 2), count(o.id) FROM orders o WHERE o.id IN (SELECT order_id FROM items)`, ""},
		{"a subquery in FROM",
			`SELECT max(x) AS x FROM (SELECT c.country, sum(c.credit) AS x FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY ALL)`,
			`SELECT 350 AS x`, ""},
		{"WITH",
			`WITH per AS (SELECT o.channel AS ch, sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id GROUP BY ch) SELECT sum(x) AS x FROM per`,
			`SELECT sum(total) AS x FROM orders WHERE id IN (SELECT order_id FROM items)`, ""},
		{"a name from WITH that repeats",
			`WITH web AS (SELECT * FROM orders WHERE channel = 'web'), x AS (SELECT order_id AS o, quantity FROM items) SELECT sum(w.total) AS x, sum(x.quantity) AS y FROM web w JOIN x ON x.o = w.id`,
			`SELECT 127.5 AS x, sum(quantity) AS y FROM items WHERE order_id IN (SELECT id FROM orders WHERE channel = 'web')`, "Each row of `web` counts once, although several rows of `x` match it."},
		{"a subquery that repeats",
			`SELECT sum(o.total) AS x FROM orders o JOIN (SELECT order_id, sku FROM items WHERE quantity > 1) i ON i.order_id = o.id JOIN (SELECT * FROM tickets) t ON t.customer_id = o.customer_id`,
			`SELECT sum(total) AS x FROM orders WHERE id IN (SELECT order_id FROM items WHERE quantity > 1) AND customer_id IN (SELECT customer_id FROM tickets)`, ""},
		{"a name from WITH that is corrected, and one that uses it",
			`WITH per AS (SELECT i.sku, sum(o.total) AS total FROM orders o JOIN items i ON i.order_id = o.id GROUP BY i.sku)
			 SELECT sum(p.total) AS x FROM per p JOIN sales s ON s.sku = p.sku`,
			`SELECT 137.5 + 30.5 AS x`, ""},
		{"UNION",
			`SELECT 'o' AS a, sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id UNION ALL SELECT 'c', sum(credit) FROM customers ORDER BY a`,
			`SELECT 'c' AS a, 450 AS x UNION ALL SELECT 'o', sum(total) FROM orders WHERE id IN (SELECT order_id FROM items) ORDER BY a`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			unguarded, _, err := s.run(t, c.sql, false)
			if err != nil {
				t.Fatal(err)
			}
			right, _, err := s.run(t, c.right, false)
			if err != nil {
				t.Fatal(err)
			}
			got, result, err := s.run(t, c.sql, true)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(result.SQL)
			if unguarded == right {
				t.Errorf("the statement is right by itself")
			}
			if got != right {
				t.Errorf("got\n%s\nwant\n%s", got, right)
			}
			if notes := strings.Join(result.Notes, " "); c.note != "" && !strings.Contains(notes, c.note) {
				t.Errorf("notes: %s", notes)
			}
		})
	}
}

// Each statement may mean a figure for each row of one dataset or of the other, or counts
// combinations of rows.
func TestGuardRefuses(t *testing.T) {
	t.Parallel()
	s := newGuardSetup(t)
	for _, c := range []struct{ name, sql, reason string }{
		{"a value that is looked up for each row", `SELECT sum(p.price) FROM items i JOIN products p ON p.sku = i.sku`,
			"sum(p.price) takes the same row of `products` several times, once for each row of `items` that matches it"},
		{"an average of values that are looked up", `SELECT avg(c.credit) FROM orders o JOIN customers c ON c.id = o.customer_id`, "avg(c.credit)"},
		{"a sum of one row for each group", `SELECT c.name, sum(c.credit) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name`, "the same row of `customers`"},
		{"a sum through a bridge, looked up", `SELECT sum(c.credits) FROM students s JOIN enrollments e ON e.student_id = s.id JOIN courses c ON c.id = e.course_id`,
			"once for each row of `enrollments`"},
		{"combinations of two branches", `SELECT c.country, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN tickets t ON t.customer_id = c.id GROUP BY c.country`,
			"count(*) takes every combination of matching rows of `customers`, `orders` and `tickets`"},
		{"combinations of many and many", `SELECT count(*) FROM items i JOIN sales s ON s.sku = i.sku`, "every combination"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := s.run(t, c.sql, false); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.run(t, c.sql, true)
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Statements that are right, or not covered, run as they are.
func TestGuardLeavesAlone(t *testing.T) {
	t.Parallel()
	s := newGuardSetup(t)
	for _, sql := range strings.Split(strings.TrimSpace(`
SELECT sum(total) FROM orders
SELECT count(*) FROM orders o JOIN customers c ON c.id = o.customer_id
SELECT c.name, count(*), sum(o.total), avg(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY 1
SELECT c.name, count(o.id), sum(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY 1
SELECT c.name, count(c.id) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY 1
SELECT c.name, count(c.id), avg(c.credit) FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.name ORDER BY 1
SELECT c.name, count(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name ORDER BY 1
SELECT country, count(DISTINCT c.id), min(c.credit), max(c.credit) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY country ORDER BY 1
SELECT sum(i.quantity * p.price) FROM items i JOIN products p USING (sku)
SELECT sum(o.total * i.quantity) FROM orders o JOIN items i ON i.order_id = o.id
SELECT sku, count(sku) FROM products JOIN items USING (sku) GROUP BY sku ORDER BY sku
SELECT sum(i.quantity) FROM items i JOIN prices p ON p.sku = i.sku AND p.valid
SELECT sum(i.quantity) FROM items i JOIN prices p ON p.sku = i.sku WHERE p.valid
SELECT sum(i.quantity) FROM items i LEFT JOIN prices p ON p.sku = i.sku AND p.valid
SELECT sum(t.amount) FROM stock t JOIN sales s ON s.shop = t.shop AND s.sku = t.sku AND s.sold > 1
SELECT sum(v.sold) FROM sales v JOIN stock s ON s.shop = v.shop AND s.sku = v.sku
SELECT s.name, sum(c.credits) FROM students s JOIN enrollments e ON e.student_id = s.id JOIN courses c ON c.id = e.course_id GROUP BY s.name ORDER BY 1
SELECT count(*) FROM students s JOIN enrollments e ON e.student_id = s.id JOIN courses c ON c.id = e.course_id
SELECT sum(total) FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.order_id = o.id)
SELECT sum(o.total) FROM orders o SEMI JOIN items i ON i.order_id = o.id
SELECT sum(x) FROM (SELECT DISTINCT o.id, o.total AS x FROM orders o JOIN items i ON i.order_id = o.id)
SELECT sum(price) FROM (SELECT p.price FROM items i JOIN products p ON p.sku = i.sku)
SELECT sum(o.total) OVER () FROM orders o JOIN items i ON i.order_id = o.id
SELECT string_agg(o.channel) FROM orders o JOIN items i ON i.order_id = o.id
SELECT o.id, p.sku FROM orders o JOIN items i ON i.order_id = o.id JOIN products p ON p.sku = i.sku ORDER BY ALL
WITH x AS (SELECT order_id, sum(quantity) AS q FROM items GROUP BY order_id) SELECT sum(o.total), sum(x.q) FROM orders o JOIN x ON x.order_id = o.id
SELECT sum(o.total), sum(x.q) FROM orders o JOIN (SELECT order_id, sum(quantity) AS q FROM items GROUP BY order_id) x ON x.order_id = o.id
SELECT sum(o.total) FROM orders o JOIN (VALUES (11), (11)) v(id) ON v.id = o.id
SELECT sum(o.total) FROM orders o, LATERAL (SELECT * FROM items i WHERE i.order_id = o.id) x WHERE x.order_id = o.id
WITH RECURSIVE r AS (SELECT 11 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 12) SELECT sum(o.total) FROM orders o JOIN r ON r.n = o.id
SELECT sum(o.total) FROM orders o JOIN items i ON i.order_id = o.id GROUP BY ROLLUP (o.channel) ORDER BY 1
SELECT sum(a.total) FROM orders a JOIN orders b ON b.id = a.id
SELECT count(*) FROM items a, items b WHERE a.order_id = b.order_id AND a.line < b.line
SELECT count(*) FROM items a JOIN items b ON a.order_id = b.order_id
SELECT count(*) FROM items i JOIN sales s ON s.sku = i.sku AND s.sold > i.quantity`), "\n") {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			want, _, err := s.run(t, sql, false)
			if err != nil {
				t.Fatal(err)
			}
			got, result, err := s.run(t, sql, true)
			if err != nil || got != want || result.SQL != sql || result.Rewritten || strings.Contains(strings.Join(result.Notes, " "), "counts once") {
				t.Errorf("got %v %s\n%s\n%v", err, result.SQL, got, result.Notes)
			}
		})
	}
}

// Rows that an inner join leaves out are counted where the result would have them.
func TestGuardCountsLostRows(t *testing.T) {
	t.Parallel()
	s := newGuardSetup(t)
	orders := "2 rows of `orders` are left out: they have no match in `customers`."
	customers := "1 row of `customers` is left out: it has no match in `orders`."
	for _, c := range []struct{ name, sql, want string }{
		{"both sides", `SELECT c.name, sum(o.total) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY c.name`, customers + " " + orders},
		{"without an aggregate", `SELECT c.name, o.day FROM customers c JOIN orders o ON o.customer_id = c.id`, customers + " " + orders},
		{"a condition in WHERE", `SELECT * FROM customers c, orders o WHERE o.customer_id = c.id`, customers + " " + orders},
		{"of the rows that are asked for", `SELECT c.name, o.day FROM customers c JOIN orders o ON o.customer_id = c.id WHERE o.id < 17 AND c.country = 'DE'`,
			"1 row of `orders` is left out: it has no match in `customers`."},
		{"one that is not shown and no filter", `SELECT sum(o.total) FROM orders o JOIN customers c ON o.customer_id = c.id`, orders},
		{"one that only filters", `SELECT sum(o.total) FROM orders o JOIN customers c ON o.customer_id = c.id WHERE c.country = 'DE'`, ""},
		{"a filter further away", `SELECT c.name FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id WHERE i.sku = 'a'`, ""},
		{"an outer join", `SELECT c.name, sum(o.total) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name`, ""},
		{"none", `SELECT i.sku, p.price FROM items i JOIN products p ON p.sku = i.sku WHERE p.price < 10`, ""},
		{"no join", `SELECT count(*) FROM orders`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, result, err := s.run(t, c.sql, true)
			if got := strings.Join(result.Notes, " "); err != nil || got != c.want {
				t.Errorf("got %v %q, want %q", err, got, c.want)
			}
		})
	}
}

// A statement runs as it is when its measurements need more memory than it does.
func TestGuardGivesUp(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Memory = 64 << 20 })
	tables := []Table{
		parquetTable(t, s.dir, "few", `SELECT i AS id, i AS value FROM range(10) r(i)`),
		parquetTable(t, s.dir, "many", `SELECT i AS few_id FROM range(6000000) r(i)`),
	}
	result, err := s.pool.Query(t.Context(), Query{
		SQL: "SELECT sum(f.value) AS x FROM few f JOIN many m ON m.few_id = f.id", Tables: tables, Timeout: time.Minute, Guard: true,
	})
	if err != nil || string(result.Rows[0]) != `{"x":45,"__metadata":{"score":1.0}}` || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "was not checked") {
		t.Errorf("got %v %s %v", err, result.Rows, result.Notes)
	}
}

// BenchmarkGuard is what the join guard adds to statements over a million orders with three
// million items: of-plain is the time of the guarded one in that of the one as it is.
func BenchmarkGuard(b *testing.B) {
	s := newSetup(b, func(c *PoolConfig) { c.Memory, c.Threads = 1<<30, 2 })
	tables := []Table{
		parquetTable(b, s.dir, "shop_customers", `SELECT i AS id, 'c' || i % 50 AS country FROM range(20000) r(i)`),
		parquetTable(b, s.dir, "shop_orders", `SELECT i AS id, i % 20000 AS customer_id, (i * 7 % 1000) / 10.0 AS total FROM range(1000000) r(i)`),
		parquetTable(b, s.dir, "shop_items", `SELECT i % 1000000 AS order_id, i % 7 AS quantity, 's' || i % 40 AS sku FROM range(3000000) r(i)`),
	}
	for _, c := range []struct{ name, sql string }{
		{"no-join", `SELECT sum(total) FROM shop_orders`},
		{"right", `SELECT country, sum(total) FROM shop_orders o JOIN shop_customers c ON c.id = o.customer_id GROUP BY country`},
		{"semijoin", `SELECT sum(o.total) FROM shop_orders o JOIN shop_items i ON i.order_id = o.id WHERE i.quantity > 3`},
		{"distinct-rows", `SELECT sku, sum(o.total) FROM shop_orders o JOIN shop_items i ON i.order_id = o.id GROUP BY sku`},
	} {
		b.Run(c.name, func(b *testing.B) {
			times := map[bool]time.Duration{}
			for b.Loop() {
				for _, guard := range []bool{false, true} {
					start := time.Now()
					if _, err := s.pool.Query(b.Context(), Query{SQL: c.sql, Tables: tables, Guard: guard}); err != nil {
						b.Fatal(err)
					}
					times[guard] += time.Since(start)
				}
			}
			b.ReportMetric(times[true].Seconds()/times[false].Seconds(), "of-plain")
			b.ReportMetric(float64(times[true].Milliseconds())/float64(b.N), "guarded-ms")
		})
	}
}

// lateSource has the files of its tables after they were fetched.
type lateSource struct {
	tables  []Table
	fetched atomic.Int64
}

func (s *lateSource) Hold(context.Context, []string) (func(), error) {
	s.fetched.Add(1)
	return func() {}, nil
}

func (s *lateSource) Ready(tables []string) (map[string][]string, func(), bool) {
	files := map[string][]string{}
	for _, t := range s.tables {
		files[t.Name] = t.Files
	}
	return files, func() {}, s.fetched.Load() > 0 || len(tables) == 0
}

func (*lateSource) Verify(context.Context, []string) error { return nil }

// A statement whose files must be fetched is guarded when they are there.
func TestGuardFetches(t *testing.T) {
	t.Parallel()
	s := newGuardSetup(t)
	source := &lateSource{tables: s.tables}
	result, err := s.pool.Query(t.Context(), Query{
		SQL: "SELECT sum(o.total) AS x FROM orders o JOIN items i ON i.order_id = o.id", Tables: s.tables, Source: source, Guard: true,
	})
	if err != nil || !result.Rewritten || len(result.Notes) != 2 || source.fetched.Load() != 1 {
		t.Errorf("got %v %s %v, fetched %d times", err, result.SQL, result.Notes, source.fetched.Load())
	}
}
