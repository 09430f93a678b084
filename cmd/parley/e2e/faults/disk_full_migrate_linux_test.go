package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/pgtest"
)

// oldRuns is how many runs an old database has.
const oldRuns = 20_000

// oldDatabase makes a database as a release that was made for schema 2 has left
// it, with many runs in one conversation of alice's.
func oldDatabase(t *testing.T, driver, source string) {
	t.Helper()
	db, err := sqlx.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	statements := []string{`
CREATE TABLE parley_schema (
	id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL, is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP
)`, `INSERT INTO parley_schema (version_id, is_applied) VALUES (0, TRUE), (1, TRUE), (2, TRUE)`}
	if driver == "postgres" {
		statements[0] = strings.Replace(statements[0], "id INTEGER", "id SERIAL", 1)
	}
	for _, name := range []string{"00001_records.sql", "00002_events.sql"} {
		text := e2etest.ReadFile(t, filepath.Join(e2etest.Root(t), "storage", "sqlstore", "migrations", name))
		if driver == "postgres" {
			text = strings.ReplaceAll(text, " WITHOUT ROWID", "")
		}
		statements = append(statements, text)
	}
	statements = append(statements,
		`INSERT INTO conversations (owner, id, title, created_at, updated_at) VALUES ('alice', 'c', 'title', 1, 1)`, `
INSERT INTO runs (id, owner, conversation_id, restriction, agent, question, status, error_message, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
SELECT '00000000-0000-7000-8000-' || CAST(100000000000 + i AS TEXT), 'alice', 'c', '', 'nl2ql', 'How many?', 'completed', '', i FROM n`, `
INSERT INTO tasks (run_id, owner, agent, open, state, snapshot, last_event, last_node_id, holder, takeovers, updated_at)
SELECT id, 'alice', 'nl2ql', FALSE, 'TASK_STATE_COMPLETED', '{}', 0, '', '', 0, created_at FROM runs`)
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%.100s: %v", statement, err)
		}
	}
}

// checkOld sees that a database has its old schema and all that was in it.
func checkOld(t *testing.T, driver, source string) {
	t.Helper()
	db, err := sqlx.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var version, runs int
	sound := "ok"
	if driver == "sqlite" {
		if err := db.Get(&sound, `PRAGMA integrity_check`); err != nil {
			t.Error(err)
		}
	}
	if err := db.Get(&version, `SELECT MAX(version_id) FROM parley_schema`); err != nil {
		t.Error(err)
	}
	if err := db.Get(&runs, `SELECT COUNT(*) FROM tasks JOIN runs ON id = run_id`); err != nil {
		t.Error(err)
	}
	if version != 2 || runs != oldRuns || sound != "ok" {
		t.Errorf("version %d, %d runs, %s", version, runs, sound)
	}
}

// TestDiskFullMigrating has an old database and no room to migrate it, or not
// enough. Whoever tries is told, nothing has changed, and it works when there is
// room.
func TestDiskFullMigrating(t *testing.T) {
	t.Parallel()
	migrates := func(t *testing.T, d *disk, driver, source string, env []string, data string) {
		for _, room := range []int64{0, 256 << 10} {
			setting, free := d.fill(nil, room)
			for _, args := range [][]string{{"migrate", "--data", data}, {"serve", "--migrate", "--listen", "127.0.0.1:0", "--data", data}} {
				got := e2etest.RunCommand(t, t.TempDir(), append(env, setting), args...)
				if got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "disk") && !strings.Contains(got.Stderr, "space") && !strings.Contains(got.Stderr, "file too large") {
					t.Errorf("%s with room for %d: %+v", args[0], room, got)
				}
			}
			free()
			checkOld(t, driver, source)
		}
		if got := e2etest.RunCommand(t, t.TempDir(), env, "migrate", "--data", data); got.Code != e2etest.ExitOK {
			t.Errorf("migrate: %+v", got)
		}
		p := e2etest.Serve(t, t.TempDir(), env, "--data", data)
		c := e2etest.Client{Process: p, Token: p.Token("alice", "--data", data)}
		var list struct{ Result struct{ TotalSize int } }
		if status := c.Ask("POST", "/a2a/nl2ql", rpc("ListTasks", e2etest.Object{"pageSize": 1}), &list); status != 200 || list.Result.TotalSize != oldRuns {
			t.Errorf("%d runs afterwards: %d", list.Result.TotalSize, status)
		}
		c.NewDataset("shop", "orders")
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		d := smallDisk(t, "96m")
		data := filepath.Join(d.dir, "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		source := filepath.Join(data, "parley.db")
		oldDatabase(t, "sqlite", source)
		migrates(t, d, "sqlite", source, nil, data)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		cluster := pgtest.Private(t)
		d := smallDiskAt(t, cluster.Folder("small"), "64m")
		if !d.mounted {
			t.Skip("a server's log of changes is a file too: it would not survive a limit on them")
		}
		cluster.Own(d.dir)
		cluster.Exec("CREATE TABLESPACE small LOCATION '" + d.dir + "'")
		cluster.Exec("CREATE DATABASE small TABLESPACE small")
		source := strings.Replace(cluster.URL(), "/postgres?", "/small?", 1)
		oldDatabase(t, "postgres", source)
		migrates(t, d, "postgres", source, []string{"PARLEY_DATABASE_URL=" + source}, t.TempDir())
	})
}
