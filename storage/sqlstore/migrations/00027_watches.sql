-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They show boards without their order.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Where a pinned query is on its board, and whether it is as wide as the board.
ALTER TABLE saved_queries ADD COLUMN place BIGINT NOT NULL DEFAULT 0;
ALTER TABLE saved_queries ADD COLUMN wide BOOLEAN NOT NULL DEFAULT FALSE;

-- Pinned queries that are asked again for a user: at a minute of the day, in UTC, or, where that
-- is NULL, when data of the namespace has changed.
CREATE TABLE watches (
	query_id        TEXT NOT NULL REFERENCES saved_queries (id) ON DELETE CASCADE,
	username        TEXT NOT NULL,
	daily_at        BIGINT,
	-- Where what has changed is sent, as in push_configs; '' for nowhere.
	url             TEXT NOT NULL,
	receiver        TEXT NOT NULL,
	scheme          TEXT NOT NULL,
	secrets         TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	-- NULL until the data changes. A process that asks has claimed the watch for a while.
	due_at          BIGINT,
	claimed_until   BIGINT NOT NULL,
	asked_at        BIGINT NOT NULL,
	-- The result of the last time, '' before, and what had changed.
	found           TEXT NOT NULL,
	change          TEXT NOT NULL,
	changed_at      BIGINT NOT NULL,
	problem         TEXT NOT NULL,
	PRIMARY KEY (query_id, username)
);
CREATE INDEX watches_due ON watches (due_at);
CREATE INDEX watches_by_username ON watches (username);
