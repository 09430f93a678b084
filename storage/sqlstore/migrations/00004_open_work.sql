-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

INSERT INTO schema_readers (oldest) VALUES (2);

-- For what a user has under way.
CREATE INDEX upload_sessions_by_owner ON upload_sessions (owner, status);
CREATE INDEX ingestions_by_user ON ingestions (started_by, status, updated_at);
