-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working until the first rule is set: see SetRowRule.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Which rows of a dataset a user, or the members of a group, may see: those for which a
-- condition is true, or whose column equals a value of a claim of the user.
CREATE TABLE row_rules (
	dataset_id  TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	username    TEXT NOT NULL,
	condition   TEXT NOT NULL,
	column_name TEXT NOT NULL,
	claim       TEXT NOT NULL,
	PRIMARY KEY (dataset_id, username)
);
CREATE INDEX row_rules_by_username ON row_rules (username);
