-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working, except that they cannot finish an upload into a dataset
-- that a newer one has prepared.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The dataset that a file is uploaded for, as owner/namespace/name in lower case; ''
-- for none. NULL for a file that an older program has prepared: its key ends with a
-- digest of the dataset.
ALTER TABLE upload_files ADD COLUMN dataset TEXT;
