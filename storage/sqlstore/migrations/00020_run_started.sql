-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They count each takeover, and do not set started: the death of
-- one does not count when a new program takes its runs over.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Whether the agent has started to execute the run since its holder has it. A takeover of a
-- run that only waited does not count.
ALTER TABLE tasks ADD COLUMN started BOOLEAN NOT NULL DEFAULT FALSE;
