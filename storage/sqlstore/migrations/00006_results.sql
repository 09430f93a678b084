-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs read and write results elsewhere.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The results of runs. In runs they made every look-up of a run slow: to compare
-- the keys of a table WITHOUT ROWID, SQLite reads whole rows.
CREATE TABLE results (
	run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	body   TEXT NOT NULL
);

INSERT INTO results (run_id, body)
SELECT id, result
FROM runs
WHERE result IS NOT NULL;

ALTER TABLE runs DROP COLUMN result;
