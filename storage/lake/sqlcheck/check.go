package sqlcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/storage"
)

// MaxSQL is the longest statement, in bytes, that is looked at.
const MaxSQL = 64 << 10

// CheckRequest refuses what needs no parser to be refused.
func CheckRequest(sql string, tables []Table) error {
	switch {
	case strings.TrimSpace(sql) == "":
		return storage.Errorf(storage.ErrInvalid, "the query is empty")
	case len(sql) > MaxSQL:
		return storage.Errorf(storage.ErrInvalid, "the query is %d bytes long; at most %d are allowed", len(sql), MaxSQL)
	case !utf8.ValidString(sql) || strings.ContainsRune(sql, 0):
		return storage.Errorf(storage.ErrInvalid, "the query must be UTF-8 text without NUL")
	}
	seen := map[string]bool{}
	for _, t := range tables {
		key := strings.ToLower(t.Name)
		if seen[key] {
			return fmt.Errorf("two tables are called %q", t.Name)
		}
		seen[key] = true
	}
	return nil
}

// Check checks a statement, of which parse gives the tree: what parse refuses as
// ErrInvalid has none. Where a score is added, DuckDB parses the new
// text too, and only when its tree is the checked one with the score in it does
// that text run, else the statement as it is. So only a statement that has been
// checked runs.
func Check(ctx context.Context, sql string, tables []Table, parse func(sql string) (tree []byte, err error)) (Checked, error) {
	tree, err := parse(sql)
	if err != nil {
		return Checked{}, err
	}
	checked, err := Validate(ctx, tree, tables)
	if err != nil {
		return Checked{}, err
	}
	checked.SQL = sql
	scored, want := addScore(sql, checked.root, checked.query)
	checked.root, checked.query = nil, nil
	if scored == "" {
		return checked, nil
	}
	if tree, err = parse(scored); err != nil && !errors.Is(err, storage.ErrInvalid) {
		return Checked{}, err
	}
	if err == nil && sameTree(tree, want) {
		checked.SQL = scored
	}
	return checked, nil
}
