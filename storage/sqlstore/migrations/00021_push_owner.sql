-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. Their configs count for nobody until they are replaced.
INSERT INTO schema_readers (oldest) VALUES (6);

-- Whose config it is: each user has a limited number of those that have not ended.
ALTER TABLE push_configs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
UPDATE push_configs SET owner = (SELECT r.owner FROM runs r WHERE r.id = push_configs.run_id) WHERE NOT ended;
CREATE INDEX push_configs_by_owner ON push_configs (owner) WHERE NOT ended;
