-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. A message that they take is not known when it comes again.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The message that a run was asked with: message is a hash of the client's id for it, its
-- user and its agent; digest is one of all that it says.
ALTER TABLE runs ADD COLUMN message TEXT;
ALTER TABLE runs ADD COLUMN digest TEXT;
CREATE UNIQUE INDEX runs_by_message ON runs (message) WHERE message IS NOT NULL;

-- The time of the task's status, by the clock of its host. NULL for what an older program
-- has written: updated_at is near it.
ALTER TABLE tasks ADD COLUMN status_at BIGINT;
