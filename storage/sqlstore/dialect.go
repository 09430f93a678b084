package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/storage/sqlstore/pgconn"
)

// versionTable is the table of the migrations that were run.
const versionTable = "parley_schema"

// dialect has the differences between the two databases. All other SQL is the same: its
// parameters are $1, $2, …, and $1 may be used more than once.
type dialect struct {
	name  string
	goose goose.Dialect
	// schema turns a migration, which is written for SQLite, into this dialect.
	schema *strings.Replacer
	// lockOwner locks the names and grants of an owner until the transaction ends; "" for a
	// database with one writer.
	lockOwner string
	// hasVersions reads whether a migration was run.
	hasVersions string
	// writeRuns writes runs in one transaction. It refuses those whose last event is another
	// one than the change expects, without affecting others.
	writeRuns func(s *Store, runs []*runChange) error
	// notify notifies other processes; "" where there are none.
	notify string
	// reclaim frees the space of deleted rows; "" where deleting frees it.
	reclaim string
	// spareBytes reads how many bytes of its file are free; "" for a server.
	spareBytes string
}

var (
	sqliteDialect = dialect{
		name:        "SQLite",
		goose:       goose.DialectSQLite3,
		schema:      strings.NewReplacer(),
		hasVersions: `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '` + versionTable + `')`,
		writeRuns:   writeSQLite,
		spareBytes:  `SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size`,
	}
	postgresDialect = dialect{
		name:        "PostgreSQL",
		goose:       goose.DialectPostgres,
		schema:      strings.NewReplacer(" WITHOUT ROWID", ""),
		lockOwner:   `SELECT pg_advisory_xact_lock(hashtextextended('owner/' || $1, 0))`,
		hasVersions: `SELECT to_regclass('` + versionTable + `') IS NOT NULL`,
		writeRuns:   writePostgres,
		notify:      `SELECT pg_notify('` + runsChannel + `', $1)`,
		reclaim:     `VACUUM (SKIP_LOCKED, ANALYZE) events, results, tasks, runs, conversations`,
	}
)

// openSQLite opens one pool for reading and one connection for writing, so that
// writers queue here and readers never wait for them, and one connection that
// waits for neither. A transaction that has committed survives a loss of power.
func openSQLite(ctx context.Context, path string) (read, write, control *sqlx.DB, err error) {
	// Long, for a backup during heavy load: SQLite checks ten times a second whether the
	// writer is between two transactions.
	const both = "_pragma=busy_timeout(60000)&_pragma=foreign_keys(1)"
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, nil, nil, err
	}
	// SQLite gives its other files the mode of this one.
	created, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := created.Close(); err != nil {
		return nil, nil, nil, err
	}
	file := (&url.URL{Scheme: "file", Path: path}).String()
	write, err = sqlx.Open("sqlite", file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate&"+both)
	if err != nil {
		return nil, nil, nil, err
	}
	write.SetMaxOpenConns(1)
	// The writer creates the WAL, without which no reader can open the file. A transaction
	// checks that it can write.
	tx, err := write.BeginTxx(ctx, nil)
	if err == nil {
		err = tx.Rollback()
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, write.Close())
	}
	read, err = openReaders(file+"?_pragma=query_only(1)&"+both, sqliteReaders)
	if err == nil {
		control, err = openReaders(file+"?_pragma=query_only(1)&"+both, 1)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, write.Close())
	}
	return read, write, control, nil
}

// openReaders opens a pool of connections to an SQLite file, which stay open.
func openReaders(source string, connections int) (*sqlx.DB, error) {
	db, err := sqlx.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// openPostgres opens a pool, a connection for the log, and some for control: neither waits
// for the pool.
func openPostgres(ctx context.Context, url string) (pool, log, control *sqlx.DB, err error) {
	base, err := pq.NewConnector(url)
	if err != nil {
		return nil, nil, nil, err
	}
	pool = sqlx.NewDb(sql.OpenDB(pgconn.Connector{Connector: base}), "postgres")
	var encoding string
	if err := pool.GetContext(ctx, &encoding, `SHOW server_encoding`); err != nil {
		return nil, nil, nil, errors.Join(err, pool.Close())
	}
	if encoding != "UTF8" {
		return nil, nil, nil, errors.Join(fmt.Errorf("the database's encoding is %s; create the database with ENCODING 'UTF8'", encoding), pool.Close())
	}
	pool.SetMaxOpenConns(postgresConnections)
	pool.SetMaxIdleConns(postgresConnections)
	pool.SetConnMaxIdleTime(postgresIdle)
	log = sqlx.NewDb(sql.OpenDB(pgconn.Connector{Connector: base, Settings: logSettings}), "postgres")
	log.SetMaxOpenConns(1)
	control = sqlx.NewDb(sql.OpenDB(pgconn.Connector{Connector: base}), "postgres")
	control.SetMaxOpenConns(controlConnections)
	control.SetMaxIdleConns(controlConnections)
	return pool, log, control, nil
}

// logSettings make the server keep the plan of the log's statement. It would plan it again
// each time, or keep a plan that reads whole tables, made while they were small.
const logSettings = `;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off`

func isUniqueViolation(err error) bool {
	return isViolation(err, "23505", sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

func isForeignKeyViolation(err error) bool {
	return isViolation(err, "23503", sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY)
}

func isViolation(err error, state pqerror.Code, codes ...int) bool {
	if inPostgres, ok := errors.AsType[*pq.Error](err); ok {
		return inPostgres.Code == state
	}
	if inSQLite, ok := errors.AsType[*sqlite.Error](err); ok {
		for _, code := range codes {
			if inSQLite.Code() == code {
				return true
			}
		}
	}
	return false
}

// isRollback reports whether the database rolled a transaction back because of
// others, and it may be tried again.
func isRollback(err error) bool {
	var inPostgres *pq.Error
	return errors.As(err, &inPostgres) && inPostgres.Code.Class() == "40"
}

// isUnavailable reports whether the database could not be reached, or not now.
func isUnavailable(err error) bool {
	if inPostgres, ok := errors.AsType[*pq.Error](err); ok {
		switch inPostgres.Code.Class() {
		case "08", "40", "53", "57": // connection, rollback, resources, operator intervention
			return true
		}
		switch inPostgres.Code {
		case "25006", "0A000": // it is read-only now: from a statement, from BEGIN
			return true
		}
		return false
	}
	if inSQLite, ok := errors.AsType[*sqlite.Error](err); ok {
		switch inSQLite.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
			return true
		}
		return false
	}
	var network net.Error
	// A server that stops closes its connections, also while they wait for a response.
	return errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// schemaFS shows the migrations in one dialect.
type schemaFS struct {
	fs.FS
	dialect dialect
}

func (f schemaFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := fs.ReadFile(f.FS, name)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return schemaFile{file, strings.NewReader(f.dialect.schema.Replace(string(bytes.TrimSpace(text))))}, nil
}

type schemaFile struct {
	fs.File
	text *strings.Reader
}

func (f schemaFile) Read(p []byte) (int, error) { return f.text.Read(p) }
