-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They give nothing to groups, and record no claims.
INSERT INTO schema_readers (oldest) VALUES (6);

-- What the newest token of each user said about the user, when it was issued.
CREATE TABLE user_claim_times (
	username  TEXT PRIMARY KEY,
	issued_at BIGINT NOT NULL
);
CREATE INDEX user_claim_times_by_time ON user_claim_times (issued_at);

-- The values of its claims. A group's name in shares is in grantee, which is empty for other
-- values.
CREATE TABLE user_claims (
	username TEXT NOT NULL REFERENCES user_claim_times (username) ON DELETE CASCADE,
	claim    TEXT NOT NULL,
	value    TEXT NOT NULL,
	grantee  TEXT NOT NULL,
	PRIMARY KEY (username, claim, value)
);
