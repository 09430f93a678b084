-- Written for SQLite; dialect.go says what Postgres reads instead.

-- +goose Up

-- Older programs keep working. They read token_scopes, where tokens created
-- from now on have no rows: on an older replica a new restricted token covers
-- nothing, so neither its ids nor its access can be widened there.
INSERT INTO schema_readers (oldest) VALUES (2);

-- Restricted tokens created before this were not created with write access, which
-- is what changing anything takes now.
ALTER TABLE tokens ADD COLUMN access TEXT NOT NULL DEFAULT 'write' CHECK (access IN ('read', 'write'));
UPDATE tokens SET access = 'read' WHERE restricted;

-- What a restricted token covers: a namespace whole, or one dataset of it.
CREATE TABLE token_targets (
	token_id     TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
	position     INTEGER NOT NULL,
	namespace_id TEXT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
	dataset_id   TEXT REFERENCES datasets (id) ON DELETE CASCADE,
	PRIMARY KEY (token_id, position)
);
CREATE INDEX token_targets_by_namespace ON token_targets (namespace_id);
CREATE INDEX token_targets_by_dataset ON token_targets (dataset_id);

INSERT INTO token_targets (token_id, position, namespace_id, dataset_id)
SELECT s.token_id, s.position, n.id, d.id
FROM token_scopes s
JOIN namespaces n ON n.owner = s.owner AND lower(n.name) = lower(s.namespace)
LEFT JOIN datasets d ON d.namespace_id = n.id AND lower(d.name) = lower(s.dataset)
WHERE s.dataset = ''
	OR d.id IS NOT NULL;
