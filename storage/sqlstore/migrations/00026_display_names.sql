-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working.
INSERT INTO schema_readers (oldest) VALUES (6);

-- What people call the rows of a dataset, in answers; NULL for the words of its name.
ALTER TABLE datasets ADD COLUMN display_name TEXT;
