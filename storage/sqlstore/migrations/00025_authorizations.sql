-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The applications that act for a user, each with one of the user's tokens. secret is the hash of
-- what the next token is got with, a code at first; generation counts these.
CREATE TABLE authorizations (
	token_id   TEXT PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
	client     TEXT NOT NULL,
	redirect   TEXT NOT NULL,
	challenge  TEXT NOT NULL,
	secret     TEXT NOT NULL,
	generation BIGINT NOT NULL DEFAULT 0
);
