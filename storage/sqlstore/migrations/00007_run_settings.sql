-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working.
INSERT INTO schema_readers (oldest) VALUES (6);

-- How a question is to be answered. NULL for a run that an older program has begun: its
-- first message says it.
ALTER TABLE runs ADD COLUMN provider TEXT;
ALTER TABLE runs ADD COLUMN model TEXT;
ALTER TABLE runs ADD COLUMN helper_prompt TEXT;
