package sqlstore

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
)

// transaction is a transaction that prepares the statements that it runs again: parsing one
// takes longer than running it.
type transaction struct {
	*sqlx.Tx
	// statements has the texts that ran, with their prepared form from the second time on. They
	// are closed with the transaction.
	statements map[string]*sqlx.Stmt
}

func begin(ctx context.Context, db *sqlx.DB) (*transaction, error) {
	tx, err := db.BeginTxx(ctx, nil)
	return &transaction{tx, map[string]*sqlx.Stmt{}}, err
}

// prepared returns the prepared form of a statement; nil the first time.
func (t *transaction) prepared(ctx context.Context, query string) (stmt *sqlx.Stmt, err error) {
	stmt, again := t.statements[query]
	if again && stmt == nil {
		stmt, err = t.PreparexContext(ctx, query)
	}
	t.statements[query] = stmt
	return stmt, err
}

func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	switch stmt, err := t.prepared(ctx, query); {
	case err != nil:
		return nil, err
	case stmt != nil:
		return stmt.ExecContext(ctx, args...)
	}
	return t.Tx.ExecContext(ctx, query, args...)
}

func (t *transaction) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	switch stmt, err := t.prepared(ctx, query); {
	case err != nil:
		return err
	case stmt != nil:
		return stmt.GetContext(ctx, dest, args...)
	}
	return t.Tx.GetContext(ctx, dest, query, args...)
}

func (t *transaction) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	switch stmt, err := t.prepared(ctx, query); {
	case err != nil:
		return err
	case stmt != nil:
		return stmt.SelectContext(ctx, dest, args...)
	}
	return t.Tx.SelectContext(ctx, dest, query, args...)
}
