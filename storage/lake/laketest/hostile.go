package laketest

import (
	"fmt"
	"strings"
)

// The hostile list: statements that nobody who asks a question of their data
// would write. {dir} is a folder with files that are not for them, {secret} a
// file in it, {file} a table's own file,
// {link} the name by which a worker reads
// another.

// Trespasses are refused by the validator, whatever else is left out.
var Trespasses = strings.Split(strings.TrimSpace(`
SELECT * FROM '{secret}'
SELECT * FROM "{secret}"
SELECT * FROM '{dir}/secrets.parquet'
SELECT * FROM "{dir}/*.parquet"
SELECT * FROM '{file}'
SELECT * FROM 'secret.csv'
SELECT * FROM './secret.csv'
SELECT * FROM '../secret.csv'
SELECT * FROM 'file://{secret}'
SELECT * FROM '/proc/self/environ'
SELECT * FROM '/proc/self/fd/3'
SELECT * FROM '/dev/fd/3'
SELECT * FROM '/etc/passwd'
SELECT * FROM 'https://example.com/x.csv'
SELECT * FROM 's3://bucket/x.parquet'
SELECT * FROM 'hf://datasets/x/y.csv'
SELECT * FROM read_csv('{secret}')
SELECT * FROM read_csv_auto('{secret}')
SELECT * FROM read_text('{secret}')
SELECT * FROM read_blob('{secret}')
SELECT * FROM read_text('/proc/self/environ')
SELECT * FROM read_text('/proc/1/cmdline')
SELECT * FROM read_text('/proc/self/root{secret}')
SELECT * FROM read_text('/proc/self/cwd/etc/passwd')
SELECT * FROM read_blob('/proc/self/mem')
SELECT * FROM read_text('/etc/passwd')
SELECT * FROM read_text('/etc/shadow')
SELECT * FROM read_text('{dir}/link')
SELECT * FROM '{dir}/link'
SELECT * FROM read_csv('/dev/stdin')
SELECT * FROM read_csv('/dev/zero')
SELECT * FROM read_parquet('{dir}/secrets.parquet')
SELECT * FROM read_parquet(['{file}', '{dir}/secrets.parquet'])
SELECT * FROM read_parquet('{file}')
SELECT * FROM parquet_scan('{dir}/secrets.parquet')
SELECT * FROM parquet_metadata('{dir}/secrets.parquet')
SELECT * FROM parquet_schema('{file}')
SELECT * FROM parquet_kv_metadata('{file}')
SELECT * FROM parquet_file_metadata('{file}')
SELECT * FROM parquet_bloom_probe('{file}', 'id', 1)
SELECT * FROM read_json('{secret}')
SELECT * FROM read_json_auto('{secret}')
SELECT * FROM read_json_objects('{secret}')
SELECT * FROM read_ndjson('{secret}')
SELECT * FROM read_ndjson_objects('{secret}')
SELECT * FROM read_duckdb('{dir}/x.db')
SELECT * FROM sniff_csv('{secret}')
SELECT * FROM glob('{dir}/*')
SELECT * FROM glob('/proc/*/cmdline')
SELECT * FROM glob('/**')
SELECT (SELECT content FROM read_text('{secret}'))
SELECT * FROM orders WHERE customer IN (SELECT content FROM read_text('{secret}'))
WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x
SELECT * FROM orders, LATERAL (SELECT * FROM read_text('{secret}')) l
SELECT * FROM orders UNION ALL SELECT 1, content, 2, NULL FROM read_text('{secret}')
FROM read_text('{secret}')
FROM '{secret}' SELECT *
TABLE "{secret}"
SELECT [x for x in (SELECT list(content) FROM read_text('{secret}'))]
SELECT * FROM orders ORDER BY (SELECT content FROM read_text('{secret}'))
SELECT * FROM orders LIMIT (SELECT count(*) FROM read_text('{secret}'))
SELECT CASE WHEN true THEN (SELECT content FROM read_text('{secret}')) END
SELECT sum(total) FILTER (WHERE EXISTS (FROM read_text('{secret}'))) FROM orders
SELECT sum(total) OVER (ORDER BY (SELECT content FROM read_text('{secret}'))) FROM orders
SELECT * FROM (VALUES ((SELECT content FROM read_text('{secret}')))) v(a)
SELECT * FROM unnest((SELECT list(content) FROM read_text('{secret}')))
SELECT list_transform([1], x -> (SELECT content FROM read_text('{secret}')))
SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) AS customer) FROM orders
SELECT * FROM orders PIVOT (max((SELECT content FROM read_text('{secret}'))) FOR id IN (1, 2))
SELECT COLUMNS((SELECT content FROM read_text('{secret}'))) FROM orders
ATTACH '{dir}/new.db'
ATTACH '{dir}/new.db' AS other (READ_ONLY)
ATTACH ':memory:' AS other
ATTACH 'postgres:dbname=postgres' AS pg (TYPE postgres)
DETACH memory
USE system
COPY orders TO '{dir}/copied.csv'
COPY orders TO '{file}'
COPY (SELECT * FROM orders) TO '{file}' (FORMAT parquet)
COPY orders TO '{link}'
COPY (SELECT * FROM orders) TO '{link}' (FORMAT parquet)
SELECT * FROM glob('/proc/self/fd/5/*')
SELECT * FROM '/proc/self/fd/5/../secrets.parquet'
COPY (SELECT 1) TO '/dev/stdout'
COPY orders TO PROGRAM 'id'
COPY orders FROM '{secret}'
COPY FROM DATABASE memory TO other
EXPORT DATABASE '{dir}/exported'
IMPORT DATABASE '{dir}'
INSTALL httpfs
INSTALL httpfs FROM 'http://127.0.0.1:1'
FORCE INSTALL spatial
LOAD httpfs
LOAD '{dir}/evil.duckdb_extension'
UPDATE EXTENSIONS
SET memory_limit = '100GB'
SET threads = 64
SET enable_external_access = true
SET GLOBAL lock_configuration = false
SET temp_directory = '{dir}'
SET VARIABLE x = 1
SET SESSION search_path = 'information_schema'
RESET memory_limit
RESET ALL
PRAGMA database_list
PRAGMA show_tables
PRAGMA table_info('orders')
PRAGMA version
PRAGMA enable_profiling
PRAGMA enable_logging
PRAGMA memory_limit = '1TB'
PRAGMA import_database('{dir}')
PRAGMA json_execute_serialized_sql('{}')
CALL pragma_version()
CALL enable_logging()
CALL query('SELECT 1')
CHECKPOINT
FORCE CHECKPOINT
VACUUM
ANALYZE
SHOW TABLES
SHOW ALL TABLES
SHOW DATABASES
DESCRIBE orders
SUMMARIZE orders
EXPLAIN SELECT * FROM orders
EXPLAIN ANALYZE SELECT * FROM orders
SELECT * FROM (DESCRIBE orders)
SELECT * FROM (SHOW TABLES)
SELECT * FROM (SUMMARIZE orders)
CREATE TABLE x AS SELECT 1
CREATE OR REPLACE TABLE orders AS SELECT 1
CREATE VIEW x AS SELECT 1
CREATE MACRO f(a) AS a
CREATE TEMP TABLE x (a INTEGER)
CREATE SCHEMA x
CREATE SEQUENCE x
CREATE TYPE x AS ENUM ('a')
CREATE SECRET x (TYPE s3, KEY_ID 'a', SECRET 'b')
CREATE INDEX i ON orders (id)
DROP TABLE orders
DROP VIEW orders
DROP SCHEMA main CASCADE
ALTER TABLE orders ADD COLUMN x INTEGER
ALTER TABLE orders RENAME TO x
TRUNCATE orders
COMMENT ON TABLE orders IS 'x'
INSERT INTO orders VALUES (1, 'x', 2, NULL)
INSERT INTO orders SELECT * FROM orders
UPDATE orders SET total = 0
DELETE FROM orders
MERGE INTO orders USING notes ON false WHEN NOT MATCHED THEN INSERT VALUES (1, 'x', 1, NULL)
WITH x AS (INSERT INTO orders VALUES (1, 'x', 2, NULL) RETURNING *) SELECT * FROM x
WITH x AS (DELETE FROM orders RETURNING *) SELECT * FROM x
WITH x AS (UPDATE orders SET total = 0 RETURNING *) SELECT * FROM x
WITH x AS (SELECT 1) INSERT INTO orders SELECT 1, 'x', 2, NULL
BEGIN
COMMIT
ROLLBACK
PREPARE p AS SELECT 1
EXECUTE p
DEALLOCATE p
SELECT 1; SELECT 2
SELECT 1; DROP TABLE orders
SELECT 1; COPY orders TO '{file}'
SELECT 1 /* ; */; ATTACH '{dir}/new.db'
;; SELECT 1; PRAGMA version
SELECT * FROM query('SELECT content FROM read_text(''{secret}'')')
SELECT * FROM query('SELECT 42')
SELECT * FROM query_table('orders')
SELECT * FROM query_table(['orders', 'secrets'])
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT json_serialize_sql('SELECT 1')
SELECT json_deserialize_sql('{}')
SELECT json_serialize_plan('SELECT * FROM orders')
SELECT * FROM sql_auto_complete('SEL')
SELECT * FROM enable_logging()
SELECT * FROM enable_logging(storage := 'file', storage_path := '{dir}/log')
SELECT * FROM disable_logging()
SELECT * FROM enable_profiling(format := 'json', save_location := '{dir}/profile.json')
SELECT * FROM disable_profiling()
SELECT * FROM duckdb_logs()
SELECT * FROM duckdb_logs_parsed('QueryLog')
SELECT * FROM truncate_duckdb_logs()
SELECT write_log('x')
SELECT parse_duckdb_log_message('FileSystem', 'x')
SELECT * FROM checkpoint('memory')
SELECT * FROM force_checkpoint('memory')
SELECT * FROM enable_peg_parser()
SELECT * FROM duckdb_settings()
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_functions()
SELECT * FROM duckdb_secrets()
SELECT * FROM duckdb_databases()
SELECT * FROM duckdb_extensions()
SELECT * FROM duckdb_memory()
SELECT * FROM duckdb_temporary_files()
SELECT * FROM duckdb_external_file_cache()
SELECT * FROM duckdb_variables()
SELECT * FROM duckdb_views
SELECT * FROM duckdb_tables
SELECT * FROM pragma_database_list
SELECT * FROM pragma_table_info('orders')
SELECT * FROM pragma_storage_info('orders')
SELECT * FROM pragma_user_agent()
SELECT * FROM which_secret('s3://x', 's3')
SELECT * FROM information_schema.tables
SELECT * FROM INFORMATION_SCHEMA.COLUMNS
SELECT * FROM "information_schema"."tables"
SELECT * FROM memory.information_schema.tables
SELECT * FROM pg_catalog.pg_tables
SELECT * FROM pg_tables
SELECT * FROM sqlite_master
SELECT * FROM sqlite_schema
SELECT * FROM main.duckdb_settings
SELECT * FROM system.main.duckdb_tables
SELECT * FROM temp.main.x
WITH duckdb_tables AS (SELECT * FROM duckdb_tables) SELECT * FROM duckdb_tables
WITH RECURSIVE duckdb_views AS (SELECT * FROM duckdb_views UNION ALL SELECT * FROM duckdb_views) SELECT * FROM duckdb_views
SELECT * FROM (WITH duckdb_views AS (SELECT 1) SELECT * FROM duckdb_views) a, duckdb_views
WITH a AS (SELECT * FROM sqlite_master), sqlite_master AS (SELECT 1) SELECT * FROM a
WITH duckdb_settings AS (SELECT 1) SELECT * FROM duckdb_settings
SELECT * FROM test_all_types()
SELECT * FROM seq_scan('orders')
SELECT * FROM arrow_scan(1, 2, 3)
SELECT * FROM repeat(1, 10)
SELECT * FROM repeat_row(1, num_rows := 10)
SELECT current_setting('memory_limit')
SELECT getvariable('x')
SELECT getenv('PATH')
SELECT current_database(), current_schema()
SELECT current_query()
SELECT current_user()
SELECT version()
SELECT txid_current()
SELECT nextval('x')
SELECT pg_sleep(100)
SELECT sleep_ms(100000)
SELECT system.main.sleep_ms(100000)
SELECT setseed(0.5)
SELECT stats(id) FROM orders
SELECT vector_type(id) FROM orders
SELECT list_aggregate([1], 'stats')
SELECT list_aggr([1], 'getenv')
SELECT array_aggr([1], 'sum_export')
SELECT array_aggregate([1], 'read_text')
SELECT aggregate([1], 'checkpoint')
SELECT aggregate([1], 'MAX ')
SELECT list_aggregate([1], NULL)
SELECT list_aggregate([1], 1)
SELECT list_aggregate([1])
SELECT list_aggregate([1], lower('SUM'))
SELECT list_aggregate([1], 'su' || 'm')
SELECT list_aggregate([1], customer) FROM orders
SELECT list_aggregate([1], (SELECT 'sum'))
SELECT list_aggregate(*COLUMNS(*)) FROM (SELECT [1] AS l, 'sum' AS f)
SELECT list_aggregate(*COLUMNS(*), 'sum') FROM (SELECT [1] AS l, 'stats' AS f)
SELECT [1].list_aggr('stats')
SELECT list_transform([[1]], x -> list_aggregate(x, 'stats'))
SELECT pg_get_viewdef(1)
SELECT * FROM secrets
SELECT * FROM SECRETS
SELECT * FROM "secrets"
SELECT * FROM main.secrets
SELECT * FROM memory.main.secrets
SELECT * FROM memory.secrets
SELECT * FROM "main.secrets"
SELECT * FROM "secrets "
SELECT * FROM "secrets.parquet"
SELECT * FROM 'secrets'
SELECT * FROM $$secrets$$
SELECT * FROM ((secrets))
SELECT (SELECT word FROM secrets)
SELECT * FROM orders JOIN secrets ON true
SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM secrets)
SELECT secrets FROM orders
SELECT secrets.word FROM orders
SELECT orders.* FROM notes
SELECT * FROM alice.private.secrets
SELECT * FROM main.orders
SELECT * FROM memory.main.orders
SELECT * FROM orders AT (VERSION => 1)
SELECT $1
SELECT ?
SELECT $name
SELECT DEFAULT
SELECT 1::other.main.thing
SELECT other.lower('X')
SELECT system.main.lower('X')
SELECT customer.read_text() FROM orders
SELECT '{secret}'.read_text()
`), "\n")

// Bombs are statements that may be allowed, and want more time or memory than
// there is.
var Bombs = strings.Split(strings.TrimSpace(`
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
`), "\n")

// Giants are statements that are too much by themselves.
func Giants() []string {
	doubling, narrow := "WITH c0 AS (SELECT 1 AS x)", "WITH c0 AS (SELECT 1 AS x)"
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf(", c%d AS (SELECT * FROM c%d a, c%d b)", i, i-1, i-1)
		narrow += fmt.Sprintf(", c%d AS (SELECT a.x FROM c%d a, c%d b)", i, i-1, i-1)
	}
	stars := strings.Repeat("SELECT "+strings.Repeat("*, ", 30)+"* FROM (", 8) + "SELECT * FROM orders" + strings.Repeat(")", 8)
	return []string{
		doubling + " SELECT count(*) FROM c59",
		doubling + " SELECT count(*) FROM c59 UNION BY NAME SELECT * FROM c59",
		narrow + " SELECT nothing FROM c59",
		stars,
		strings.Repeat(" ", 10<<20) + "SELECT 1",
		"SELECT '" + strings.Repeat("x", 10<<20) + "'",
		"SELECT " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000),
		"SELECT " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"SELECT " + strings.Repeat("-", 1) + strings.Repeat("(-", 10_000) + "1" + strings.Repeat(")", 10_000),
		"SELECT " + strings.Repeat("NOT ", 15_000) + "true",
		"SELECT 1" + strings.Repeat("+1", 30_000),
		"SELECT 1 WHERE true" + strings.Repeat(" AND true", 7_000),
		"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 3_000),
		strings.Repeat("SELECT * FROM (", 4_000) + "SELECT 1" + strings.Repeat(")", 4_000),
		"SELECT " + strings.Repeat("CASE WHEN true THEN ", 2_500) + "1" + strings.Repeat(" END", 2_500),
		"SELECT * FROM orders" + strings.Repeat(" JOIN orders USING (id)", 2_500),
		"SELECT " + strings.Repeat("1,", 32_000) + "1",
		"WITH " + strings.Repeat("a AS (WITH ", 2_000) + "b AS (SELECT 1) SELECT 1" + strings.Repeat(") SELECT 1", 2_000),
		"SELECT \xff\xfe",
		"SELECT 1 \x00; DROP TABLE orders",
		"", " ", ";", "--", "/*", "'", "\"", "SELECT", "\ufeff",
	}
}
