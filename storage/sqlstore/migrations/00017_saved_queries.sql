-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They answer no question with a verified query.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Queries that editors saved. kind is verified or pinned, question_key a hash of the question,
-- datasets a JSON list of the ids of those that the query reads.
CREATE TABLE saved_queries (
	id           TEXT PRIMARY KEY,
	namespace_id TEXT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
	kind         TEXT NOT NULL,
	title        TEXT NOT NULL,
	question     TEXT NOT NULL,
	question_key TEXT NOT NULL,
	query        TEXT NOT NULL,
	datasets     TEXT NOT NULL,
	saved_by     TEXT NOT NULL,
	saved_at     BIGINT NOT NULL
);
CREATE INDEX saved_queries_by_question ON saved_queries (namespace_id, kind, question_key);
