-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They write numbers in English.
INSERT INTO schema_readers (oldest) VALUES (6);

-- The language tag of who asked, by which the answer writes numbers; '' and NULL for English.
ALTER TABLE runs ADD COLUMN locale TEXT;
