// Package sqlstore keeps Parley's records in SQLite or PostgreSQL: one set of
// SQL, one schema, with the few differences in dialect.go.
//
// Who may see a row is decided here, in the WHERE of the statement that reads
// it: access.go. What a record means, and what its fields may hold, is the
// storage package's.
package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

const (
	sqliteReaders       = 8
	postgresConnections = 20
	// controlConnections are for what must not wait for readers: see Store.control.
	controlConnections = 2
	postgresIdle       = 5 * time.Minute
)

// Config says where the records are.
type Config struct {
	// DatabaseURL is that of a PostgreSQL database; "" for SQLite.
	DatabaseURL string
	// Path is SQLite's file, made when there is none.
	Path string
	// Now is the machine's clock, by which the embedded database goes; nil for
	// time.Now.
	Now func() time.Time
	// Observer hears of what the store does; nil for nobody.
	Observer Observer
}

// Store has the records in a database.
type Store struct {
	dialect dialect
	read    *sqlx.DB
	write   *sqlx.DB
	// control has connections of its own for Ping, and leases is what leases are
	// kept through: neither waits for those who read. The embedded database has one
	// writer, which no reader holds up; there, leases is that one.
	control *sqlx.DB
	leases  *sqlx.DB
	// prepared holds the read statements by their text. There are as many as
	// the package has.
	prepared sync.Map
	// readers has a place for each connection of the embedded database.
	readers  chan struct{}
	now      func() time.Time
	clock    *serverClock // nil for the embedded database
	observer Observer

	log *eventLog
	// batches is what the log is written through, and logStatements what with:
	// both are used by its one writer alone.
	batches       *sqlx.DB
	logStatements map[string]*sql.Stmt
	// instance tells what this store has told others from what they tell it.
	instance string
	url      string
	// path is the embedded database's file, and file what was there when it was
	// opened.
	path    string
	file    os.FileInfo
	closing func() error
}

var (
	_ storage.Tasks        = (*Store)(nil)
	_ storage.Hosts        = (*Store)(nil)
	_ storage.PushConfigs  = (*Store)(nil)
	_ storage.PushOutbox   = (*Store)(nil)
	_ storage.Ratings      = (*Store)(nil)
	_ storage.Uploads      = (*Store)(nil)
	_ storage.Ingestions   = (*Store)(nil)
	_ storage.Lake         = (*Store)(nil)
	_ storage.Attachments  = (*Store)(nil)
	_ storage.Leases       = (*Store)(nil)
	_ storage.SavedQueries = (*Store)(nil)
	_ storage.RunShares    = (*Store)(nil)
)

// Open connects to the database. The schema is not looked at: see Migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{now: cfg.Now, instance: storage.NewID(), url: cfg.DatabaseURL, observer: cfg.Observer}
	if s.now == nil {
		s.now = time.Now
	}
	if s.observer == nil {
		s.observer = noObserver{}
	}
	var err error
	if cfg.DatabaseURL != "" {
		s.dialect = postgresDialect
		s.read, s.batches, s.control, err = openPostgres(ctx, cfg.DatabaseURL)
		s.write, s.leases = s.read, s.control
	} else {
		s.dialect, s.path = sqliteDialect, cfg.Path
		s.readers = make(chan struct{}, sqliteReaders)
		s.read, s.write, s.control, err = openSQLite(ctx, cfg.Path)
		s.batches, s.leases = s.write, s.write
		if err == nil {
			s.file, err = os.Stat(cfg.Path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", s.dialect.name, err)
	}
	for _, db := range []*sqlx.DB{s.read, s.write, s.batches, s.control} {
		db.Mapper = mapper
	}
	s.log = startLog(s.writeObserved)
	s.closing = sync.OnceValue(s.close)
	err = s.Ping(ctx)
	if err == nil && cfg.DatabaseURL != "" {
		s.clock = &serverClock{}
		s.now, err = s.clock.now, s.clock.sync(ctx, s.read)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkFile is ErrUnavailable when the embedded database's file was removed or
// replaced: what is written then is lost, though SQLite does not mind.
func (s *Store) checkFile() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.file) {
		err = errors.New("another file replaced it; restart the server to use that one")
	}
	if err != nil {
		return fmt.Errorf("%w: find the database's file: %w", storage.ErrUnavailable, err)
	}
	return nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checkFile(); err != nil {
		return err
	}
	// Connections that the database closed while they were idle say nothing about it.
	var err error
	for range controlConnections + 1 {
		if err = s.control.PingContext(ctx); !errors.Is(err, driver.ErrBadConn) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("reach %s: %w", s.dialect.name, classify(err))
	}
	return nil
}

// Close writes what was appended and lets go of the database.
func (s *Store) Close() error { return s.closing() }

func (s *Store) close() error {
	s.log.close()
	// The writer goes last: it is the one that can tidy SQLite's WAL away. What
	// is closed twice does not mind.
	return errors.Join(s.read.Close(), s.control.Close(), s.batches.Close(), s.write.Close())
}

// queryer is what reads: the store itself, or a transaction.
type queryer interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
}

// prepare gives the prepared form of a constant query.
func (s *Store) prepare(ctx context.Context, query string) (*sqlx.Stmt, error) {
	if stmt, ok := s.prepared.Load(query); ok {
		return stmt.(*sqlx.Stmt), nil
	}
	stmt, err := s.read.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if earlier, lost := s.prepared.LoadOrStore(query, stmt); lost {
		return earlier.(*sqlx.Stmt), stmt.Close()
	}
	return stmt, nil
}

// reading runs a read of a constant query. One from the embedded database is over
// sooner than two goroutines that wait for its context are started: there, only
// the wait for a connection ends with the context.
func (s *Store) reading(ctx context.Context, query string, read func(ctx context.Context, stmt *sqlx.Stmt) error) (err error) {
	defer func(start time.Time) { s.observe(OperationRead, start, err) }(time.Now())
	ctx, done := s.withTimeout(ctx)
	defer done()
	if s.readers != nil {
		select {
		case s.readers <- struct{}{}:
			defer func() { <-s.readers }()
			ctx = context.WithoutCancel(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	return read(ctx, stmt)
}

// withTimeout bounds what is done on a server. The embedded database always answers.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.readers != nil {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, statementTimeout)
}

// errEnough says that no more rows are wanted.
var errEnough = errors.New("enough rows")

// eachRow reads rows that scan takes one by one, until it says errEnough.
func (s *Store) eachRow(ctx context.Context, query *statement, a args, scan func(rows *sqlx.Rows) error) error {
	values, err := query.values(a)
	if err != nil {
		return err
	}
	return s.reading(ctx, query.text, func(ctx context.Context, stmt *sqlx.Stmt) error {
		rows, err := stmt.QueryxContext(ctx, values...)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			if err := scan(rows); errors.Is(err, errEnough) {
				return nil
			} else if err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// GetContext reads one row; sql.ErrNoRows when there is none.
func (s *Store) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	return s.reading(ctx, query, func(ctx context.Context, stmt *sqlx.Stmt) error { return stmt.GetContext(ctx, dest, args...) })
}

// SelectContext reads all rows.
func (s *Store) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	return s.reading(ctx, query, func(ctx context.Context, stmt *sqlx.Stmt) error { return stmt.SelectContext(ctx, dest, args...) })
}

// txTries is how often a transaction is begun that the database rolls back
// because others are at work.
const txTries = 4

// inTx runs fn in a transaction that holds when fn returns nil; again, when the
// database asks for that. attempt says what it is for.
func (s *Store) inTx(ctx context.Context, attempt string, fn func(tx *sqlx.Tx) error) error {
	return s.inTxOn(ctx, s.write, attempt, fn)
}

// inLeaseTx is inTx for what keeps leases, and does not wait for readers.
func (s *Store) inLeaseTx(ctx context.Context, attempt string, fn func(tx *sqlx.Tx) error) error {
	return s.inTxOn(ctx, s.leases, attempt, fn)
}

func (s *Store) inTxOn(ctx context.Context, db *sqlx.DB, attempt string, fn func(tx *sqlx.Tx) error) error {
	ctx, done := s.withTimeout(ctx)
	defer done()
	for try := 1; ; try++ {
		err := s.inTxOnce(ctx, db, attempt, fn)
		if try == txTries || !isRollback(err) {
			return err
		}
	}
}

func (s *Store) inTxOnce(ctx context.Context, db *sqlx.DB, attempt string, fn func(tx *sqlx.Tx) error) (err error) {
	defer func(start time.Time) { s.observe(OperationWrite, start, err) }(time.Now())
	if err := s.checkFile(); err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return wrap(attempt+": begin", err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return wrap(attempt, err)
	}
	if err := tx.Commit(); err != nil {
		return wrap(attempt+": commit", err)
	}
	return nil
}

// inOwnerTx is inTx for what goes by the names of an owner's things, or changes
// who may see them. They take turns, so that a name means the same thing to the
// end.
func (s *Store) inOwnerTx(ctx context.Context, attempt, owner string, fn func(tx *sqlx.Tx) error) error {
	return s.inTx(ctx, attempt, func(tx *sqlx.Tx) error {
		if s.dialect.lockOwner != "" {
			if _, err := tx.ExecContext(ctx, s.dialect.lockOwner, owner); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

// execTx is a transaction of one statement.
func (s *Store) execTx(ctx context.Context, attempt, query string, args ...any) error {
	return s.inTx(ctx, attempt, func(tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// exec runs one statement and gives how many rows it touched.
func exec(ctx context.Context, tx *sqlx.Tx, query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execOne runs a statement that must touch a row; ErrNotFound when it does not.
func execOne(ctx context.Context, tx *sqlx.Tx, query string, args ...any) error {
	n, err := exec(ctx, tx, query, args...)
	if err == nil && n == 0 {
		return storage.ErrNotFound
	}
	return err
}

// wrap says what was attempted when err happened; nil for none.
func wrap(attempt string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempt, classify(err))
}

// classify gives a database's error the kind under which it is answered.
func classify(err error) error {
	var known *storage.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return storage.ErrNotFound
	case isUniqueViolation(err), isForeignKeyViolation(err):
		return fmt.Errorf("%w: %w", storage.ErrConflict, err)
	case isUnavailable(err):
		return fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	return err
}

// Now is the time by the clock that the records go by: PostgreSQL's, or for the
// embedded database the machine's.
func (s *Store) Now() time.Time { return s.now() }

func (s *Store) millis() int64 { return s.now().UnixMilli() }

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
