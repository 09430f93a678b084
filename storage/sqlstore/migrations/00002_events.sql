-- Written for SQLite; dialect.go says what Postgres reads instead.
-- Nothing was written to tasks and events before this.

-- +goose Up

DROP TABLE events;
DROP TABLE tasks;

-- What a run's events have come to. snapshot is the task without its artifacts,
-- as JSON; open says that more may follow. holder is the host that works on it,
-- '' for nobody; takeovers counts the hosts that died doing so. owner and agent
-- are the run's, for the index.
CREATE TABLE tasks (
	run_id       TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
	owner        TEXT NOT NULL,
	agent        TEXT NOT NULL,
	open         BOOLEAN NOT NULL,
	state        TEXT NOT NULL,
	snapshot     TEXT NOT NULL,
	last_event   BIGINT NOT NULL,
	last_node_id TEXT NOT NULL,
	holder       TEXT NOT NULL,
	takeovers    BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX tasks_by_update ON tasks (owner, agent, updated_at, run_id);
CREATE INDEX tasks_by_holder ON tasks (holder) WHERE open;

-- body is what goes over the wire, as JSON; number counts the run's events from 1.
CREATE TABLE events (
	run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
	number     BIGINT NOT NULL,
	kind       TEXT NOT NULL CHECK (kind IN ('task', 'status', 'artifact', 'message')),
	body       TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (run_id, number)
) WITHOUT ROWID;

ALTER TABLE runs DROP COLUMN last_node_id;
ALTER TABLE runs DROP COLUMN updated_at;
