-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. A run with attachments that one of them takes over does
-- not read them.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The files that questions brought. restriction is the restricted token that one came with,
-- '' for none; tables is a JSON array of the datasets that it became, '' until then.
CREATE TABLE attachments (
	id              TEXT PRIMARY KEY,
	owner           TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	restriction     TEXT NOT NULL,
	run_id          TEXT NOT NULL,
	filename        TEXT NOT NULL,
	dataset         TEXT NOT NULL,
	object_key      TEXT NOT NULL,
	byte_count      BIGINT NOT NULL,
	tables          TEXT NOT NULL DEFAULT '',
	FOREIGN KEY (owner, conversation_id) REFERENCES conversations (owner, id) ON DELETE CASCADE
);
CREATE INDEX attachments_by_conversation ON attachments (owner, conversation_id, id);
CREATE INDEX attachments_by_run ON attachments (run_id);

-- Their objects. They outlive the attachment, until they are listed in loose_objects.
CREATE TABLE attachment_objects (
	object_key    TEXT PRIMARY KEY,
	attachment_id TEXT NOT NULL,
	byte_count    BIGINT NOT NULL,
	sha256        TEXT NOT NULL
);
CREATE INDEX attachment_objects_by_attachment ON attachment_objects (attachment_id);
