-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They do not know the links.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Declared links from a dataset to another of the same namespace, in order. columns and
-- to_columns are JSON lists of names, which the datasets may have no more.
CREATE TABLE dataset_links (
	dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	position   BIGINT NOT NULL,
	to_id      TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	columns    TEXT NOT NULL,
	to_columns TEXT NOT NULL,
	label      TEXT NOT NULL,
	PRIMARY KEY (dataset_id, position)
) WITHOUT ROWID;
CREATE INDEX dataset_links_by_target ON dataset_links (to_id);
