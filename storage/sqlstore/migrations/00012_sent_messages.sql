-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. A message that they take is not known when it comes again.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The messages that runs were asked with, for a day. message is a hash of the client's id
-- for it, digest one of all that it says.
CREATE TABLE sent_messages (
	run_id     TEXT NOT NULL PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	owner      TEXT NOT NULL,
	agent      TEXT NOT NULL,
	message    TEXT NOT NULL,
	digest     TEXT NOT NULL,
	created_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX sent_messages_by_message ON sent_messages (owner, agent, message);

-- The time of the task's status, by the clock of its host. NULL for what an older program
-- has written: updated_at is near it.
ALTER TABLE tasks ADD COLUMN status_at BIGINT;
