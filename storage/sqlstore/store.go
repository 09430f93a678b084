// Package sqlstore stores Parley's records in SQLite or PostgreSQL. Both have the same
// statements and the same schema; dialect.go has the differences.
//
// The WHERE of the statement that reads a row decides who may see it: access.go. Package
// domain defines the records and their rules.
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

	"parley/internal/domain"
	"parley/internal/fair"
)

const (
	sqliteReaders       = 8
	postgresConnections = 20
	// controlConnections are for what must not wait for readers: see Store.control.
	controlConnections = 2
	postgresIdle       = 5 * time.Minute
	// statementTimeout limits a read, and a transaction, whose caller set no limit.
	statementTimeout = 30 * time.Second
)

// Config says where the records are.
type Config struct {
	// DatabaseURL is that of a PostgreSQL database; "" for SQLite.
	DatabaseURL string
	// Path is the file of SQLite, which is created if it does not exist.
	Path string
	// Now is the clock of the machine, which the embedded database uses; nil for time.Now.
	Now func() time.Time
	// Observer is called for each operation of the store; nil for none.
	Observer Observer
}

// Store has the records in a database. Its methods check what their caller may do: what the
// caller may not see is ErrNotFound.
type Store struct {
	dialect dialect
	read    *sqlx.DB
	write   *sqlx.DB
	// control has connections for Ping, and leases has those for leases: neither waits for
	// readers. The embedded database has one writer, which does not wait for readers either:
	// there, leases is the writer.
	control *sqlx.DB
	leases  *sqlx.DB
	// prepared has the read statements by their text.
	prepared sync.Map
	// reads and writes have a slot for each connection, so that users have equal shares of them;
	// for a server they are the same. Work for nobody in particular takes none, such as the
	// checking of tokens.
	reads, writes *fair.Queue
	now           func() time.Time
	clock         *serverClock // nil for the embedded database
	observer      Observer

	log *eventLog
	// batches is the connection of the log, and logStatements are its statements: only its
	// writer uses them.
	batches       *sqlx.DB
	logStatements map[string]*sql.Stmt
	// instance identifies the notifications of this store.
	instance string
	url      string
	// path is the file of the embedded database, and file its identity when it was opened.
	path    string
	file    os.FileInfo
	closing func() error
}

// Open connects to the database. It does not check the schema: see Migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	s := &Store{now: cfg.Now, instance: domain.NewID(), url: cfg.DatabaseURL, observer: cfg.Observer}
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
		s.reads = fair.New(fair.Config{Slots: postgresConnections, SlotsPerUser: postgresConnections / 2})
		s.writes = s.reads
	} else {
		s.dialect, s.path = sqliteDialect, cfg.Path
		s.reads = fair.New(fair.Config{Slots: sqliteReaders, SlotsPerUser: sqliteReaders / 2})
		s.writes = fair.New(fair.Config{Slots: 1, SlotsPerUser: 1})
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

// checkFile is ErrUnavailable when the file of the embedded database was removed or
// replaced: what SQLite then writes is lost.
func (s *Store) checkFile() error {
	if s.file == nil {
		return nil
	}
	now, err := os.Stat(s.path)
	if err == nil && !os.SameFile(now, s.file) {
		err = errors.New("another file replaced it; restart the server to use that one")
	}
	if err != nil {
		return fmt.Errorf("%w: find the database's file: %w", domain.ErrUnavailable, err)
	}
	return nil
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.checkFile(); err != nil {
		return err
	}
	// The database may have closed idle connections: that is no error.
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

// Close writes pending changes and closes the database.
func (s *Store) Close() error { return s.closing() }

func (s *Store) close() error {
	s.log.close()
	// The writer is closed last: it can remove the WAL of SQLite. Closing one twice has no
	// effect.
	return errors.Join(s.read.Close(), s.control.Close(), s.batches.Close(), s.write.Close())
}

// queryer reads: the store itself, or a transaction.
type queryer interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
}

// prepare returns the prepared form of a constant query.
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

// reading runs a read of a constant query. In the embedded database, a read takes less time
// than starting goroutines that wait for the end of its context: there, only the wait of a user
// for a slot ends with the context.
func (s *Store) reading(ctx context.Context, query string, read func(ctx context.Context, stmt *sqlx.Stmt) error) (err error) {
	defer func(start time.Time) { s.observe(OperationRead, start, err) }(time.Now())
	ctx, done := s.withTimeout(ctx)
	defer done()
	release, err := slot(ctx, s.reads)
	if err != nil {
		return err
	}
	defer release()
	if s.embedded() && fair.User(ctx) != "" {
		ctx = context.WithoutCancel(ctx)
	}
	stmt, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	return read(ctx, stmt)
}

// withTimeout limits the time of an operation on a server. The embedded database always
// answers.
func (s *Store) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.embedded() {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, statementTimeout)
}

// embedded reports whether the database is a file of ours.
func (s *Store) embedded() bool { return s.path != "" }

// slot waits for a connection for the user of a context.
func slot(ctx context.Context, queue *fair.Queue) (release func(), err error) {
	if fair.User(ctx) == "" {
		return func() {}, nil
	}
	release, err = queue.Take(ctx)
	if err != nil {
		return nil, ctx.Err()
	}
	return release, nil
}

// errEnough ends the reading of rows.
var errEnough = errors.New("enough rows")

// eachRow reads rows that scan takes one by one, until it says errEnough.
func (s *Store) eachRow(ctx context.Context, query *statement, a args, scan func(rows *sqlx.Rows) error) error {
	text, values, err := query.bind(a)
	if err != nil {
		return err
	}
	return s.reading(ctx, text, func(ctx context.Context, stmt *sqlx.Stmt) error {
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

// txTries limits the attempts at a transaction that the database rolls back because of
// concurrent ones.
const txTries = 4

// inTx runs fn in a transaction, which it commits when fn returns nil. It repeats a
// transaction that the database rolled back. attempt describes it in errors.
func (s *Store) inTx(ctx context.Context, attempt string, fn func(tx *transaction) error) error {
	release, err := slot(ctx, s.writes)
	if err != nil {
		return wrap(attempt, err)
	}
	defer release()
	return s.inTxOn(ctx, s.write, attempt, fn)
}

// inLeaseTx is inTx for leases. It does not wait for readers.
func (s *Store) inLeaseTx(ctx context.Context, attempt string, fn func(tx *transaction) error) error {
	return s.inTxOn(ctx, s.leases, attempt, fn)
}

func (s *Store) inTxOn(ctx context.Context, db *sqlx.DB, attempt string, fn func(tx *transaction) error) error {
	ctx, done := s.withTimeout(ctx)
	defer done()
	for try := 1; ; try++ {
		err := s.inTxOnce(ctx, db, attempt, fn)
		if try == txTries || !isRollback(err) {
			return err
		}
	}
}

func (s *Store) inTxOnce(ctx context.Context, db *sqlx.DB, attempt string, fn func(tx *transaction) error) (err error) {
	defer func(start time.Time) { s.observe(OperationWrite, start, err) }(time.Now())
	if err := s.checkFile(); err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	tx, err := begin(ctx, db)
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

// inOwnerTx is inTx for changes that find an owner's namespaces and datasets by name, or
// change grants. Those of one owner run one after the other, so that names do not change
// meanwhile.
func (s *Store) inOwnerTx(ctx context.Context, attempt, owner string, fn func(tx *transaction) error) error {
	return s.inTx(ctx, attempt, func(tx *transaction) error {
		if s.dialect.lockOwner != "" {
			if _, err := tx.ExecContext(ctx, s.dialect.lockOwner, owner); err != nil {
				return err
			}
		}
		return fn(tx)
	})
}

func (s *Store) execTx(ctx context.Context, attempt, query string, args ...any) error {
	return s.inTx(ctx, attempt, func(tx *transaction) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// exec runs one statement and gives the number of affected rows.
func exec(ctx context.Context, tx *transaction, query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// execOne runs a statement that must affect a row; ErrNotFound when it does not.
func execOne(ctx context.Context, tx *transaction, query string, args ...any) error {
	n, err := exec(ctx, tx, query, args...)
	if err == nil && n == 0 {
		return domain.ErrNotFound
	}
	return err
}

// wrap adds the failed operation to an error; nil for none.
func wrap(attempt string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", attempt, classify(err))
}

// classify returns the error of a database its kind.
func classify(err error) error {
	var known *domain.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return domain.ErrNotFound
	case isUniqueViolation(err), isForeignKeyViolation(err):
		return fmt.Errorf("%w: %w", domain.ErrConflict, err)
	case isUnavailable(err):
		return fmt.Errorf("%w: %w", domain.ErrUnavailable, err)
	}
	return err
}

// Now is the time of the records: that of PostgreSQL, or for the embedded database that of
// the machine.
func (s *Store) Now() time.Time { return s.now() }

func (s *Store) millis() int64 { return s.now().UnixMilli() }

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
