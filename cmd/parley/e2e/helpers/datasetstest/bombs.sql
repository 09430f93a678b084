SELECT len(range(1000000000))
SELECT len(generate_series(1, 10000000000))
SELECT length(repeat('x', 4000000000))
SELECT length(repeat(repeat('x', 100000), 100000))
SELECT length(lpad('x', 2000000000, 'y'))
SELECT length(rpad('x', 2000000000, 'y')) FROM orders
SELECT length(string_agg(repeat('x', 1000000), '')) FROM orders a, orders b
SELECT count(*) FROM orders a, orders b, orders c, orders d
SELECT max(a.total * b.total + c.total) FROM orders a, orders b, orders c, orders d
SELECT sum(i) FROM range(100000000000000) r(i)
SELECT count(DISTINCT hash(i)) FROM range(1000000000000) r(i)
SELECT list(i) FROM range(10000000000) r(i)
SELECT i FROM range(1000000000000) r(i) ORDER BY hash(i) DESC LIMIT 1
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r, range(10)) SELECT count(*) FROM r
WITH RECURSIVE r AS (SELECT 'x' AS s UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r
SELECT list_reduce(range(100000000), (a, b) -> a + b)
SELECT list_transform(range(10000000), x -> list_transform(range(1000), y -> x * y))
SELECT array_agg(a) FROM (SELECT range(100000) AS a FROM range(1000000))
SELECT histogram(i) FROM range(10000000000) r(i)
SELECT count(*) FROM orders a, orders b WHERE regexp_matches(repeat(a.customer || b.customer, 100000), '(x+x+)+y')
SELECT levenshtein(repeat('a', 100000), repeat('b', 100000)) FROM orders a, orders b
SELECT damerau_levenshtein(repeat('a', 50000), repeat('b', 50000)) FROM orders
SELECT match(repeat('word ', 100000000), 'word')
SELECT sum(match(repeat(customer || ' ', 100000), 'customr')) FROM orders a, orders b
SELECT factorial(33) FROM range(1000000000000) WHERE false OR random() > 2
SELECT bitstring('1', 2000000000)
SELECT printf('%2000000000d', 1)
SELECT format('{:>2000000000}', 1)
SELECT json_group_array(i) FROM range(10000000000) r(i)
SELECT * FROM orders a CROSS JOIN orders b CROSS JOIN orders c ORDER BY random()
SELECT 9::BIGNUM * repeat('9', 100000000)::BIGNUM
SELECT unnest(generate_series(1, 100000000)) AS a, md5(a::VARCHAR) AS b ORDER BY b
