package sqlcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
)

// MaxSQL bounds a statement, in bytes.
const MaxSQL = 64 << 10

// CheckRequest checks what needs no parser.
func CheckRequest(sql string, tables []Table) error {
	switch {
	case strings.TrimSpace(sql) == "":
		return domain.Errorf(domain.ErrInvalid, "the query is empty")
	case len(sql) > MaxSQL:
		return domain.Errorf(domain.ErrInvalid, "the query is %d bytes long; at most %d are allowed", len(sql), MaxSQL)
	case !utf8.ValidString(sql) || strings.ContainsRune(sql, 0):
		return domain.Errorf(domain.ErrInvalid, "the query must be UTF-8 text without NUL")
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

// Check checks a statement, of which parse returns the tree. Where a score is added, DuckDB
// parses the new text too; that text only runs when its tree is the checked one with the
// score in it, else the statement as it is. So only checked statements run.
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
	scored, want := addScore(sql, checked.Tree, checked.query)
	checked.query = nil
	if scored == "" {
		return checked, nil
	}
	if tree, err = parse(scored); err != nil && !errors.Is(err, domain.ErrInvalid) {
		return Checked{}, err
	}
	if err == nil && SameTree(tree, want) {
		checked.SQL = scored
	}
	return checked, nil
}
