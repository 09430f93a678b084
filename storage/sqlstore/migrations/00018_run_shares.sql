-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They show no shared run.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The runs that their askers shared by a link. datasets is a JSON list of the ids of those
-- that the run read, or may have: who may read them may read the run.
CREATE TABLE run_shares (
	id         TEXT PRIMARY KEY,
	run_id     TEXT NOT NULL UNIQUE REFERENCES runs (id) ON DELETE CASCADE,
	datasets   TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
