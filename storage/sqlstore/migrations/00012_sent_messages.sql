-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. A message that they take is not known when it comes again.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The message that a run was asked with: message is the client's id for it, digest a hash
-- of all that it says.
ALTER TABLE runs ADD COLUMN message TEXT;
ALTER TABLE runs ADD COLUMN digest TEXT;
-- The message that answered the last question to its asker.
ALTER TABLE runs ADD COLUMN answer TEXT;
CREATE INDEX runs_by_answer ON runs (owner, agent, answer) WHERE answer IS NOT NULL;
CREATE UNIQUE INDEX runs_by_message ON runs (owner, agent, message) WHERE message IS NOT NULL;

-- The time of the task's status, by the clock of its host. NULL for what an older program
-- has written: updated_at is near it.
ALTER TABLE tasks ADD COLUMN status_at BIGINT;
