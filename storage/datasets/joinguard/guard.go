package joinguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/sqlcheck"
)

// Engine is DuckDB, over the tables of the statement.
type Engine interface {
	// Parse returns the tree of a statement.
	Parse(ctx context.Context, sql string) ([]byte, error)
	// Query checks and runs a statement that gives one row. Invalid statements are
	// domain.ErrInvalid. The row of a lasting one depends on the data alone, and may be
	// remembered.
	Query(ctx context.Context, sql string, lasting bool) (json.RawMessage, error)
	// Print returns a statement of a tree, which may differ from it in meaning.
	Print(ctx context.Context, tree []byte) (string, error)
}

// Guarded is a statement after the guard.
type Guarded struct {
	// SQL is set where the statement was rewritten. It has not been checked.
	SQL string
	// Notes say, in sentences, what was rewritten and which rows are left out.
	Notes []string
}

// Guard guards a statement, whose tree has been checked. A statement that is refused is
// domain.ErrInvalid with the reason. It asks the engine nothing about a statement without a
// join.
func Guard(ctx context.Context, root map[string]any, tables []sqlcheck.Table, engine Engine) (Guarded, error) {
	known := make(map[string]sqlcheck.Table, len(tables))
	for _, t := range tables {
		known[strings.ToLower(t.Name)] = t
	}
	joins := false
	visit(root, func(n node) bool {
		joins = joins || n["type"] == "JOIN"
		return !joins
	})
	if !joins {
		return Guarded{}, nil
	}
	root = object(clone(root))
	g := &guard{ctx: ctx, engine: engine, unique: map[string]bool{}}
	changed := false
	query, err := queryOf(root)
	if err != nil {
		return Guarded{}, err
	}
	for _, found := range selectsIn(query, scope{tables: known}) {
		s, ok := newSelection(found.node, found.scope)
		if !ok {
			continue
		}
		rewritten, err := g.selection(s)
		if errors.Is(err, errUnknown) {
			continue
		}
		if err != nil {
			return Guarded{}, err
		}
		changed = changed || rewritten
	}
	result := Guarded{Notes: g.notes}
	if !changed {
		return result, nil
	}
	sql, err := g.print(root)
	result.SQL = sql
	return result, err
}

// errTree says that a worker sent a tree that is not one of a statement.
var errTree = errors.New("the syntax tree of a statement is incomplete")

// queryOf returns the query of a statement's tree.
func queryOf(root node) (node, error) {
	query := object(object(first(root["statements"]))["node"])
	if query == nil {
		return nil, errTree
	}
	return query, nil
}

// errUnknown says that facts cannot be measured.
var errUnknown = errors.New("the facts of a join are not known")

// guard guards one statement.
type guard struct {
	ctx    context.Context
	engine Engine
	// unique caches facts.
	unique map[string]bool
	notes  []string
}

// build makes the tree of a statement in which the names of parts stand for these trees, as
// columns or as tables.
func (g *guard) build(sql string, parts map[string]any) (node, error) {
	tree, err := g.engine.Parse(g.ctx, sql)
	if err != nil {
		return nil, err
	}
	root, err := sqlcheck.DecodeTree(tree)
	if err != nil {
		return nil, err
	}
	incomplete := false
	root = object(rewrite(root, func(v any) (any, bool) {
		n := object(v)
		name := text(n["table_name"])
		if names := columnNames(n); len(names) == 1 {
			name = names[0]
		}
		part, ok := parts[name]
		if ok && n["class"] != nil {
			named := object(clone(part))
			if named == nil {
				incomplete = true
				return nil, true
			}
			named["alias"] = n["alias"]
			return named, true
		}
		return part, ok
	}))
	if incomplete || root == nil {
		return nil, errTree
	}
	return root, nil
}

// query runs a statement made by build with the names from WITH of a SELECT, and returns its
// row.
func (g *guard) query(in scope, sql string, parts map[string]any, lasting bool, row any) error {
	root, err := g.build(sql, parts)
	if err != nil {
		return unknown(err)
	}
	if len(in.with) > 0 {
		query, err := queryOf(root)
		if err != nil {
			return err
		}
		query["cte_map"] = node{"map": in.with}
	}
	if sql, err = g.printTree(root); err != nil {
		return unknown(err)
	}
	found, err := g.engine.Query(g.ctx, sql, lasting)
	if err != nil {
		return unknown(err)
	}
	return json.Unmarshal(found, row)
}

// unknown makes errUnknown of a statement that is not valid.
func unknown(err error) error {
	if errors.Is(err, domain.ErrInvalid) {
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

func (g *guard) printTree(root node) (string, error) {
	tree, err := json.Marshal(root)
	if err != nil {
		return "", err
	}
	return g.engine.Print(g.ctx, tree)
}

// print returns a rewritten statement, which must mean what its tree does.
func (g *guard) print(root node) (string, error) {
	sql, err := g.printTree(root)
	if err != nil {
		return "", err
	}
	tree, err := g.engine.Parse(g.ctx, sql)
	if err != nil {
		return "", err
	}
	if !sqlcheck.SameTree(tree, root) {
		return "", domain.Errorf(domain.ErrInvalid, "%s", cannotRewrite)
	}
	return sql, nil
}

// selection guards one SELECT. It reports whether its tree was changed.
func (g *guard) selection(s *selection) (changed bool, err error) {
	var repeated []aggregate
	found := s.aggregates()
	for _, a := range found {
		wrong, err := g.check(s, a)
		if err != nil {
			return false, err
		}
		if wrong {
			repeated = append(repeated, a)
		}
	}
	for _, a := range repeated {
		note, err := g.repeats(s, a)
		if err != nil {
			return false, err
		}
		g.note(note)
	}
	if err := g.countLost(s, found); err != nil && !errors.Is(err, errUnknown) {
		return false, err
	}
	if len(repeated) == 0 {
		return false, nil
	}
	if done, err := g.semijoin(s, found, repeated); done || err != nil {
		return done, err
	}
	return true, g.countOnce(s, repeated)
}

// note adds a sentence, once.
func (g *guard) note(text string) {
	if !slices.Contains(g.notes, text) {
		g.notes = append(g.notes, text)
	}
}
