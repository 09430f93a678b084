-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They refuse the cookies of these sessions.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The sessions of browsers that signed in with the identity provider: each is a token of its
-- user. The secrets are encrypted with a key that only the browser has. A session is valid
-- until refresh_at; then one process, until refreshing_until, gets new secrets. After a failure
-- none tries before retry_at.
CREATE TABLE web_sessions (
	token_id         TEXT PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
	secrets          TEXT NOT NULL,
	refresh_at       BIGINT NOT NULL,
	refreshing_until BIGINT NOT NULL DEFAULT 0,
	retry_at         BIGINT NOT NULL DEFAULT 0
);
