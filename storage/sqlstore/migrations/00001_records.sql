-- Written for SQLite; dialect.go says what Postgres reads instead.
-- Times are milliseconds since 1970 in UTC. Ids are UUIDs as text.

-- +goose Up

CREATE TABLE namespaces (
	id         TEXT PRIMARY KEY,
	owner      TEXT NOT NULL,
	name       TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX namespaces_by_name ON namespaces (owner, lower(name));

-- description and field_descriptions (a JSON object) are the dataset's
-- inference definition; version is the current one of dataset_versions.
CREATE TABLE datasets (
	id                 TEXT PRIMARY KEY,
	namespace_id       TEXT NOT NULL REFERENCES namespaces (id),
	name               TEXT NOT NULL,
	description        TEXT,
	field_descriptions TEXT,
	version            BIGINT NOT NULL,
	created_at         BIGINT NOT NULL,
	updated_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX datasets_by_name ON datasets (namespace_id, lower(name));

-- columns is a JSON array of {"name", "type"}.
CREATE TABLE dataset_versions (
	dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	version    BIGINT NOT NULL,
	columns    TEXT NOT NULL,
	row_count  BIGINT NOT NULL,
	byte_count BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (dataset_id, version)
);

-- The files that hold the rows of a dataset's current version, in their order.
CREATE TABLE dataset_files (
	id         TEXT PRIMARY KEY,
	dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	object_key TEXT NOT NULL UNIQUE,
	row_count  BIGINT NOT NULL,
	byte_count BIGINT NOT NULL,
	sha256     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX dataset_files_by_dataset ON dataset_files (dataset_id, id);

-- Objects that nothing names, or nothing yet: they are to be removed from
-- due_at on. An object is listed here before it is written, and until the
-- record that names it is.
CREATE TABLE loose_objects (
	object_key TEXT PRIMARY KEY,
	due_at     BIGINT NOT NULL
);
CREATE INDEX loose_objects_by_due ON loose_objects (due_at);

CREATE TABLE namespace_grants (
	namespace_id TEXT NOT NULL REFERENCES namespaces (id) ON DELETE CASCADE,
	username     TEXT NOT NULL,
	role         TEXT NOT NULL CHECK (role IN ('viewer', 'editor')),
	PRIMARY KEY (namespace_id, username)
);
CREATE INDEX namespace_grants_by_username ON namespace_grants (username);

CREATE TABLE dataset_grants (
	dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	username   TEXT NOT NULL,
	role       TEXT NOT NULL CHECK (role IN ('viewer', 'editor')),
	PRIMARY KEY (dataset_id, username)
);
CREATE INDEX dataset_grants_by_username ON dataset_grants (username);

-- hash is the SHA-256 of the token's text, in hex.
CREATE TABLE tokens (
	id         TEXT PRIMARY KEY,
	owner      TEXT NOT NULL,
	name       TEXT NOT NULL,
	hash       TEXT NOT NULL,
	restricted BOOLEAN NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
);
CREATE INDEX tokens_by_owner ON tokens (owner);

-- dataset is '' for the whole namespace.
CREATE TABLE token_scopes (
	token_id  TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
	position  INTEGER NOT NULL,
	owner     TEXT NOT NULL,
	namespace TEXT NOT NULL,
	dataset   TEXT NOT NULL,
	PRIMARY KEY (token_id, position)
);

CREATE TABLE signing_keys (
	purpose    TEXT PRIMARY KEY,
	secret     TEXT NOT NULL,
	created_at BIGINT NOT NULL
);

CREATE TABLE conversations (
	owner      TEXT NOT NULL,
	id         TEXT NOT NULL,
	title      TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (owner, id)
) WITHOUT ROWID;

-- A run is what its task comes to: the same id, and what readers ask for.
-- restriction is the restricted token it was asked with, '' for none.
CREATE TABLE runs (
	id              TEXT PRIMARY KEY,
	owner           TEXT NOT NULL,
	conversation_id TEXT NOT NULL,
	namespace_id    TEXT REFERENCES namespaces (id) ON DELETE SET NULL,
	restriction     TEXT NOT NULL,
	agent           TEXT NOT NULL,
	question        TEXT NOT NULL,
	status          TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'expired')),
	error_message   TEXT NOT NULL,
	last_node_id    TEXT NOT NULL,
	result          TEXT,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL,
	FOREIGN KEY (owner, conversation_id) REFERENCES conversations (owner, id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX runs_by_conversation ON runs (owner, conversation_id, created_at, id);
CREATE INDEX runs_by_namespace ON runs (namespace_id);

CREATE TABLE tasks (
	run_id     TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	state      TEXT NOT NULL,
	snapshot   TEXT NOT NULL,
	last_event BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
) WITHOUT ROWID;

-- body is what goes over the wire, number what counts it within its run.
CREATE TABLE events (
	run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	number     BIGINT NOT NULL,
	body       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

-- fence counts the holders: what an earlier one writes is refused.
CREATE TABLE leases (
	name       TEXT PRIMARY KEY,
	holder     TEXT NOT NULL,
	fence      BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
) WITHOUT ROWID;

-- score_id and score_day say where the tracing store keeps the rating.
CREATE TABLE ratings (
	run_id     TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	thumbs_up  BOOLEAN NOT NULL,
	comment    TEXT NOT NULL,
	score_id   TEXT NOT NULL,
	score_day  TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

-- restriction is the restricted token it was prepared with, '' for none.
CREATE TABLE upload_sessions (
	id          TEXT PRIMARY KEY,
	owner       TEXT NOT NULL,
	restriction TEXT NOT NULL,
	status      TEXT NOT NULL CHECK (status IN ('preparing', 'completed', 'aborted')),
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);
CREATE INDEX upload_sessions_by_status ON upload_sessions (status, created_at);

CREATE TABLE upload_files (
	id         TEXT PRIMARY KEY,
	session_id TEXT NOT NULL REFERENCES upload_sessions (id) ON DELETE CASCADE,
	position   INTEGER NOT NULL,
	filename   TEXT NOT NULL,
	byte_count BIGINT NOT NULL,
	part_size  BIGINT NOT NULL,
	upload_id  TEXT NOT NULL,
	object_key TEXT NOT NULL UNIQUE,
	status     TEXT NOT NULL CHECK (status IN ('preparing', 'completed', 'aborted')),
	UNIQUE (session_id, position)
);

-- name is what the ingestion is shown as. started_by and restriction are the
-- caller on whose behalf it runs.
CREATE TABLE ingestions (
	id              TEXT PRIMARY KEY,
	dataset_id      TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
	started_by      TEXT NOT NULL,
	restriction     TEXT NOT NULL,
	name            TEXT NOT NULL,
	mode            TEXT NOT NULL CHECK (mode IN ('append', 'replace')),
	status          TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
	status_message  TEXT NOT NULL,
	processed_bytes BIGINT NOT NULL,
	expected_bytes  BIGINT NOT NULL,
	processed_rows  BIGINT NOT NULL,
	attempts        BIGINT NOT NULL,
	seen            BOOLEAN NOT NULL,
	created_at      BIGINT NOT NULL,
	updated_at      BIGINT NOT NULL
);
CREATE INDEX ingestions_by_dataset ON ingestions (dataset_id, created_at, id);
CREATE INDEX ingestions_by_status ON ingestions (status, created_at);

CREATE TABLE ingestion_files (
	ingestion_id   TEXT NOT NULL REFERENCES ingestions (id) ON DELETE CASCADE,
	position       INTEGER NOT NULL,
	upload_file_id TEXT NOT NULL REFERENCES upload_files (id),
	PRIMARY KEY (ingestion_id, position)
);
