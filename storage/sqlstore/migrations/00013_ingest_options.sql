-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. An ingestion that one of them claims is done without its
-- options, and a version that it makes has no profile.
INSERT INTO schema_readers (oldest) VALUES (6);

-- How the files are to be read, and how they were: JSON objects, '' for none.
ALTER TABLE ingestions ADD COLUMN options TEXT NOT NULL DEFAULT '';
ALTER TABLE ingestions ADD COLUMN report TEXT NOT NULL DEFAULT '';

-- What the columns of a version hold, a JSON object; '' for none.
ALTER TABLE dataset_versions ADD COLUMN profile TEXT NOT NULL DEFAULT '';
