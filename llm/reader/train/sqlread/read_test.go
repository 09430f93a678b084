package sqlread

import (
	"testing"

	"parley/llm/reader/catalog/catalogtest"
	"parley/llm/reader/ir"
)

func TestRead(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for sql, want := range map[string]string{
		"SELECT count(*) FROM orders WHERE channel = 'web'":                                                                                         "select count * from t2 where c16 = v:web",
		"SELECT T1.name FROM customers AS T1 JOIN orders AS T2 ON T1.customer_id = T2.customer_id WHERE T2.amount > 5":                              "select c1 where c15 > v:5",
		"SELECT c.city, sum(o.amount) FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY 1 ORDER BY 2 DESC LIMIT 3":           "select c2 sum c15 group c2 order sum c15 desc limit v:3",
		"SELECT city, count(*) AS n FROM customers GROUP BY city HAVING count(*) >= 2 ORDER BY n":                                                   "select c2 count * from t0 group c2 having count * >= v:2 order count * asc",
		"SELECT name FROM customers WHERE customer_id NOT IN (SELECT customer_id FROM orders)":                                                      "select c1 where c0 notin ( select c12 )",
		"SELECT 100.0 * count(*) FILTER (WHERE channel = 'web') / count(*) FROM orders":                                                             "select pct c16 = v:web from t2",
		"SELECT channel, 100.0 * sum(amount) / sum(sum(amount)) OVER () FROM orders GROUP BY channel":                                               "select c16 share sum c15 group c16",
		"SELECT date_trunc('month', ordered_at), avg(amount) FROM orders WHERE during(ordered_at, '2024') GROUP BY date_trunc('month', ordered_at)": "select month c13 avg c15 where c13 = v:2024 group month c13",
		"SELECT name FROM customers WHERE city IN ('Rome', 'Berlin') AND newsletter IS NOT NULL":                                                    "select c1 where c2 = v:Rome or c2 = v:Berlin and c4 notnull",
		"SELECT channel, median(amount) FROM orders GROUP BY channel":                                                                               "select c16 median c15 group c16",
		"SELECT name FROM customers INTERSECT SELECT title FROM products":                                                                           "select c1 intersect select c18",
		"SELECT sum(quantity * unit_price) FROM order_items":                                                                                        "select sum c9 times c10",
		"SELECT name FROM customers WHERE name ILIKE '%moss%'":                                                                                      "select c1 where c1 like v:moss",
		"SELECT title FROM products ORDER BY price DESC LIMIT 3 OFFSET 2":                                                                           "select c18 order c20 desc limit v:3 nth v:3",
		"SELECT status FROM orders WHERE amount > (SELECT avg(amount) FROM orders)":                                                                 "select c14 where c15 > ( select avg c15 )",
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
	for _, sql := range []string{"", "SELECT", "DELETE FROM orders", "SELECT * FROM (SELECT 1)", "SELECT nothing FROM orders", "SELECT a.name FROM customers a JOIN customers b ON a.city = b.city", "SELECT name FROM customers, products", "SELECT 'x"} {
		if q, err := Read(sql, cat); err == nil {
			t.Errorf("%s was read as %+v", sql, q)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("SELECT count(*) FROM orders WHERE channel = 'web' GROUP BY 1 ORDER BY 1 LIMIT 1")
	cat := catalogtest.Shop()
	f.Fuzz(func(_ *testing.T, sql string) { _, _ = Read(sql, cat) })
}
