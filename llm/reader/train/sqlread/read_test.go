package sqlread

import (
	"fmt"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/ir"
)

func TestRead(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for sql, want := range map[string]string{
		"SELECT count(*) FROM orders WHERE channel = 'web'":                                                                                                                                   "select count * from t2 where c16 = v:web",
		"SELECT T1.name FROM customers AS T1 JOIN orders AS T2 ON T1.customer_id = T2.customer_id WHERE T2.amount > 5":                                                                        "select c1 where c15 > v:5",
		"SELECT c.city, sum(o.amount) FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY 1 ORDER BY 2 DESC LIMIT 3":                                                     "select c2 sum c15 group c2 order sum c15 desc limit v:3",
		"SELECT city, count(*) AS n FROM customers GROUP BY city HAVING count(*) >= 2 ORDER BY n":                                                                                             "select c2 count * from t0 group c2 having count * >= v:2 order count * asc",
		"SELECT name FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders)":                                                                                                "select c1 where c0 notin ( select c12 )",
		"SELECT 100.0 * count(*) FILTER (WHERE channel = 'web') / count(*) FROM orders":                                                                                                       "select pct c16 = v:web from t2",
		"SELECT channel, 100.0 * sum(amount) / sum(sum(amount)) OVER () FROM orders GROUP BY channel":                                                                                         "select c16 share sum c15 group c16",
		"SELECT date_trunc('month', ordered_at), avg(amount) FROM orders WHERE during(ordered_at, '2024') GROUP BY date_trunc('month', ordered_at)":                                           "select month c13 avg c15 where c13 = v:2024 group month c13",
		"SELECT name FROM customers WHERE city IN ('Rome', 'Berlin') AND newsletter IS NOT NULL":                                                                                              "select c1 where c2 = v:Rome or c2 = v:Berlin and c4 notnull",
		"SELECT channel, median(amount) FROM orders GROUP BY channel":                                                                                                                         "select c16 median c15 group c16",
		"SELECT name FROM customers INTERSECT SELECT title FROM products":                                                                                                                     "select c1 intersect select c18",
		"SELECT sum(quantity * unit_price) FROM order_items":                                                                                                                                  "select sum c9 times c10",
		"SELECT name FROM customers WHERE name ILIKE '%moss%'":                                                                                                                                "select c1 where c1 like v:moss",
		"SELECT title FROM products ORDER BY price DESC LIMIT 3 OFFSET 2":                                                                                                                     "select c18 order c20 desc limit v:3 nth v:3",
		"SELECT status FROM orders WHERE amount > (SELECT avg(amount) FROM orders)":                                                                                                           "select c14 where c15 > ( select avg c15 )",
		"SELECT count(*) FILTER (WHERE channel = 'web'), avg(amount) FILTER (WHERE channel = 'web' AND status = 'open') FROM orders":                                                          "select count * if c16 = v:web avg c15 if c16 = v:web and c14 = v:open from t2",
		"SELECT 100.0 * count(CASE WHEN channel = 'web' THEN 1 END) / count(*) FROM orders":                                                                                                   "select pct c16 = v:web from t2",
		"SELECT round(100.0 * sum(CASE WHEN channel IN ('web', 'shop') THEN amount ELSE 0 END) / sum(amount), 1) FROM orders":                                                                 "select pctof sum c15 c16 = v:web or c16 = v:shop",
		"SELECT channel, 100.0 * sum(amount) / (SELECT sum(amount) FROM orders) FROM orders GROUP BY channel":                                                                                 "select c16 share sum c15 group c16",
		"SELECT 100.0 * (SELECT sum(amount) FROM orders WHERE channel = 'web') / (SELECT sum(unit_price) FROM order_items)":                                                                   "select ( select sum c15 where c16 = v:web ) % ( select sum c10 )",
		"SELECT (SELECT amount FROM orders WHERE order_id = 7 AND status = 'x') - (SELECT amount FROM orders WHERE order_id = 8 AND status = 'x')":                                            "select diff max c15 c11 = v:7 vs c11 = v:8 where c14 = v:x",
		"SELECT 100.0 * ((SELECT sum(amount) FROM orders WHERE channel = 'a') - (SELECT sum(amount) FROM orders WHERE channel = 'b')) / (SELECT sum(amount) FROM orders WHERE channel = 'b')": "select growth sum c15 c16 = v:b vs c16 = v:a",
		"SELECT avg(n) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id) t":                                                                                           "select avg ( select count * from t2 group c12 )",
		"WITH t AS (SELECT city, count(*) AS n FROM customers GROUP BY city) SELECT count(*) FROM t WHERE n > 2":                                                                              "select count ( select c2 from t0 group c2 having count * > v:2 )",
		"SELECT city FROM (SELECT city, count(*) AS n FROM customers GROUP BY city) WHERE n > 2 ORDER BY n DESC":                                                                              "select c2 from t0 group c2 having count * > v:2 order count * desc",
		"SELECT channel FROM orders GROUP BY channel HAVING count(*) FILTER (WHERE status = 'a') > count(*) FILTER (WHERE status = 'b')":                                                      "select c16 from t2 group c16 having count * if c14 = v:a > count * if c14 = v:b",
		"SELECT a.city FROM customers a JOIN customers b ON a.city = b.city WHERE a.name = 'x' AND b.name = 'y' AND a.customer_id > b.customer_id":                                            "select c2 group c2 having max c0 if c1 = v:x > max c0 if c1 = v:y",
		"SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id WHERE o.order_id IS NULL":                                                                         "select c1 where c0 notin ( select c12 )",
		"SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id AND channel = 'web')":                                                      "select c1 where c0 notin ( select c12 where c16 = v:web )",
		"SELECT name FROM customers WHERE city <> 'NA' AND NOT (city = 'Rome' OR country = 'Italy')":                                                                                          "select c1 where c2 notnull and c2 != v:Rome and c3 != v:Italy",
		"SELECT name FROM customers WHERE (city = 'Rome' OR country = 'Italy') AND newsletter = 'yes'":                                                                                        "select c1 where c2 = v:Rome and c4 = v:yes or c3 = v:Italy and c4 = v:yes",
		"SELECT year(ordered_at) // 10 * 10 AS decade, count(*) FROM orders GROUP BY decade":                                                                                                  "select decade c13 count * from t2 group decade c13",
		"SELECT status FROM orders ORDER BY abs(amount - order_id) DESC LIMIT 3":                                                                                                              "select c14 order c15 gap c11 desc limit v:3",
		"SELECT item_id, 100.0 * (quantity + item_id) / unit_price FROM order_items WHERE quantity > 2 * unit_price":                                                                          "select c6 c9 plus c6 of c10 where c9 over c10 > v:2",
		"SELECT amount > 10 AS large, count(*) FROM orders GROUP BY large":                                                                                                                    "select count * if c15 > v:10 count * if c15 <= v:10 from t2",
		"SELECT CASE WHEN channel = 'web' THEN 'online' ELSE 'shop' END AS kind, sum(amount) FROM orders GROUP BY kind":                                                                       "select sum c15 if c16 = v:web sum c15 if c16 != v:web",
		"SELECT customer_id FROM orders GROUP BY customer_id, amount HAVING count(*) > amount":                                                                                                "select c12 from t2 group c12 c15 having count * > max c15",
		"SELECT date_diff('day', min(ordered_at), max(ordered_at)) FROM orders":                                                                                                               "select max c13 - min c13",
		"SELECT TRY_CAST(REPLACE(price, ',', '') AS DOUBLE) FROM products WHERE title LIKE 'a%b'":                                                                                             "select c20 where c18 like v:a and c18 like v:b",
		"SELECT channel, arg_max(status, amount) FROM orders GROUP BY channel":                                                                                                                "select c16 c14 order c15 desc limit v:3 each c16",
		"SELECT channel, status FROM orders QUALIFY row_number() OVER (PARTITION BY channel ORDER BY amount DESC) <= 2":                                                                       "select c16 c14 order c15 desc limit v:3 each c16",
	} {
		q, err := Read(sql, cat)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var literals []string
		tokens, err := ir.Tokens(q, func(c *ir.Cond, n int) (ir.Token, bool) {
			text := "3"
			if c != nil {
				text = c.Values[n].Text
			}
			literals = append(literals, text)
			return ir.Token{Class: ir.ValueRef, N: len(literals) - 1}, true
		})
		got := ""
		for i, token := range tokens {
			if i > 0 {
				got += " "
			}
			if token.Class == ir.ValueRef {
				got += "v:" + literals[token.N]
			} else {
				got += token.String()
			}
		}
		if err != nil || got != want {
			t.Errorf("%s\n got %s\nwant %s\n%v", sql, got, want, err)
		}
	}
	for _, sql := range []string{"", "SELECT", "DELETE FROM orders", "SELECT * FROM (SELECT 1)", "SELECT name FROM customers c WHERE city = (SELECT max(status) FROM orders o WHERE o.customer_id = c.customer_id)", "SELECT amount * 3 FROM orders", "SELECT length(name) FROM customers", "SELECT lag(amount) OVER (ORDER BY order_id) FROM orders", "SELECT count_if() FROM orders", "SELECT count(*) FROM orders WHERE left() = 'x' AND list_contains(split(), 1) AND decade(year()) = 1", "SELECT nothing FROM orders", "SELECT a.name FROM customers a JOIN customers b ON a.city = b.city", "SELECT name FROM customers, products", "SELECT 'x"} {
		if q, err := Read(sql, cat); err == nil {
			t.Errorf("%s was read as %+v", sql, q)
		}
	}
}

func TestJoins(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for sql, want := range map[string]string{
		"SELECT name FROM customers c JOIN orders o ON o.customer_id = c.customer_id":                                                           "[[12 0]]",
		"SELECT name FROM customers WHERE customer_id IN (SELECT o.customer_id FROM orders o JOIN order_items i ON i.order_id = o.order_id)":    "[[7 11]]",
		"SELECT avg(n) FROM (SELECT count(*) AS n FROM orders o JOIN customers USING (customer_id) GROUP BY o.status)":                          "[[12 0]]",
		"SELECT name FROM customers UNION SELECT title FROM products p LEFT JOIN order_items i ON i.product_id = p.product_id AND quantity > 3": "[]",
		"SELECT": "[]",
	} {
		if got := fmt.Sprint(Joins(sql, cat)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("SELECT count(*) FROM orders WHERE channel = 'web' GROUP BY 1 ORDER BY 1 LIMIT 1")
	cat := catalogtest.Shop()
	f.Fuzz(func(_ *testing.T, sql string) { _, _ = Read(sql, cat) })
}
