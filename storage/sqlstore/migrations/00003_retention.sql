-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- From here on, each migration says which version of the schema a program must
-- at least have been made for to work with what the schema has become.
CREATE TABLE schema_readers (
	oldest BIGINT NOT NULL
);
INSERT INTO schema_readers (oldest) VALUES (2);

-- trimmed says that of the events only the last one, and those that make up
-- artifacts, are left.
ALTER TABLE tasks ADD COLUMN trimmed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX tasks_to_trim ON tasks (updated_at) WHERE NOT open AND NOT trimmed;

CREATE INDEX ingestion_files_by_upload ON ingestion_files (upload_file_id);
