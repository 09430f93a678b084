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
