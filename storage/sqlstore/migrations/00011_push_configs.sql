-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They send no notifications.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Where the events of runs are sent, and how far that is: position is the number of
-- the last event that was received, -1 when the task comes first. Until due_at nothing is
-- tried. holder is the host that sends now, '' for none. token_id is the restricted token
-- that it was made with. secrets are encrypted. modes are the media types that are accepted,
-- '' for all, and version is that of the protocol, '' for the current one.
CREATE TABLE push_configs (
	run_id        TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	id            TEXT NOT NULL,
	token_id      TEXT REFERENCES tokens (id) ON DELETE CASCADE,
	url           TEXT NOT NULL,
	receiver      TEXT NOT NULL,
	scheme        TEXT NOT NULL,
	secrets       TEXT NOT NULL,
	modes         TEXT NOT NULL,
	version       TEXT NOT NULL,
	position      BIGINT NOT NULL,
	holder        TEXT NOT NULL,
	due_at        BIGINT NOT NULL,
	failures      BIGINT NOT NULL,
	failing_since BIGINT NOT NULL,
	ended         BOOLEAN NOT NULL,
	created_at    BIGINT NOT NULL,
	PRIMARY KEY (run_id, id)
) WITHOUT ROWID;
CREATE INDEX push_configs_due ON push_configs (due_at) WHERE NOT ended;
CREATE INDEX push_configs_by_holder ON push_configs (holder) WHERE NOT ended;
CREATE INDEX push_configs_by_token ON push_configs (token_id);
