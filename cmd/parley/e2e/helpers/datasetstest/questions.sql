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
