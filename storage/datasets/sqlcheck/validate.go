package sqlcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/internal/domain"
)

// Table is a table that statements may read.
type Table struct {
	// Name is found without regard to case.
	Name    string
	Columns []domain.Column
}

// Checked is a statement that may run.
type Checked struct {
	// Tables are those of the given tables that the statement reads.
	Tables []string
	// SQL is the text that may run: DuckDB has parsed it, and Check has checked its tree.
	SQL string
	// Tree is the statement's, without a score.
	Tree map[string]any
	// query is the query in it.
	query node
}

// The bounds of a tree.
const (
	maxNodes = 20_000
	maxDepth = 200
	// maxWidth bounds the columns of one relation, maxColumns of all together: nested stars
	// multiply them, here and in DuckDB.
	maxWidth   = 5_000
	maxColumns = 50_000
	// maxRelations bounds the tables, queries and names from WITH, counted at each use.
	maxRelations = 1_000
	// MaxTree is in bytes.
	MaxTree = 8 << 20
)

// Validate checks a statement's syntax tree, from DuckDB's json_serialize_sql, against the
// tables. It refuses every kind of node that it does not know. The error is a
// domain.ErrInvalid with the reason, or the cause of ctx.
func Validate(ctx context.Context, tree []byte, tables []Table) (checked Checked, err error) {
	// A decoded tree takes ten times its length.
	if len(tree) > MaxTree || bytes.Count(tree, []byte(`"class":`)) > maxNodes {
		return checked, refusal("the query is too long")
	}
	root, err := DecodeTree(tree)
	if err != nil {
		return checked, refusal("the query is nested too deeply or cannot be read")
	}
	c := &checker{ctx: ctx, tables: make(map[string]Table, len(tables)), used: map[string]*columns{}}
	for _, t := range tables {
		c.tables[strings.ToLower(t.Name)] = t
		c.names = append(c.names, t.Name)
	}
	// A refusal deep in the tree panics; here it becomes an error.
	defer func() {
		if r := recover(); r != nil {
			stopped, ok := r.(stop)
			if !ok {
				panic(r)
			}
			checked, err = Checked{}, stopped.why
		}
	}()
	checked.Tree, checked.query = root, c.statement(root)
	for _, t := range tables {
		if c.used[strings.ToLower(t.Name)] != nil {
			checked.Tables = append(checked.Tables, t.Name)
		}
	}
	return checked, nil
}

// DecodeTree decodes exactly one tree.
func DecodeTree(tree []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(tree))
	decoder.UseNumber()
	var root map[string]any
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("more than one tree")
	}
	return root, nil
}

// maxRefusal bounds a reason, in bytes: it has names from the query.
const maxRefusal = 1_000

func refusal(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.ErrInvalid, "%s", domain.Truncate(fmt.Sprintf(format, args...), maxRefusal))
}

// stop is the value of a panic that ends a check.
type stop struct{ why error }

// node is an object of the tree.
type node map[string]any

// checker is the state of one check.
type checker struct {
	ctx    context.Context
	tables map[string]Table
	names  []string
	// used has the columns of the tables that the query uses.
	used  map[string]*columns
	nodes int
	depth int
	// columns and relations count those of the whole query.
	columns, relations int
}

// widen counts columns that are added to a relation.
func (c *checker) widen(have, by int) {
	if c.columns += by; have+by > maxWidth || c.columns > maxColumns {
		c.refuse("the query makes too many columns; name those that it needs")
	}
}

func (c *checker) countRelation() {
	if c.relations++; c.relations > maxRelations {
		c.refuse("the query reads from too many tables")
	}
}

func (c *checker) refuse(format string, args ...any) {
	panic(stop{refusal(format, args...)})
}

// enter counts a node and refuses unknown keys. It ends the check when ctx ends.
func (c *checker) enter(n node, keys ...string) {
	if c.ctx.Err() != nil {
		panic(stop{context.Cause(c.ctx)})
	}
	if c.nodes++; c.nodes > maxNodes {
		c.refuse("the query is too long")
	}
	known := 0
	for _, key := range keys {
		if _, ok := n[key]; ok {
			known++
		}
	}
	if known != len(n) {
		c.refuse("the query uses a part of SQL that is not allowed")
	}
}

// deeper bounds the depth of the recursion.
func (c *checker) deeper() func() {
	if c.depth++; c.depth > maxDepth {
		c.refuse("the query is nested too deeply")
	}
	return func() { c.depth-- }
}

func (c *checker) object(v any) node {
	m, ok := v.(map[string]any)
	if !ok {
		c.refuse("the query cannot be read")
	}
	return m
}

func (c *checker) list(v any) []any {
	if v == nil {
		return nil
	}
	l, ok := v.([]any)
	if !ok {
		c.refuse("the query cannot be read")
	}
	return l
}

func (c *checker) text(v any) string {
	s, ok := v.(string)
	if !ok {
		c.refuse("the query cannot be read")
	}
	return s
}

func (c *checker) texts(v any) []string {
	var all []string
	for _, item := range c.list(v) {
		all = append(all, c.text(item))
	}
	return all
}

// statement checks the whole tree and returns its query.
func (c *checker) statement(root node) node {
	if failed, ok := root["error"].(bool); !ok || failed {
		c.refuse("%s", parseReason(root))
	}
	c.enter(root, "error", "statements")
	statements := c.list(root["statements"])
	if len(statements) != 1 {
		c.refuse("write one statement; there are %d", len(statements))
	}
	query := c.wrapped(statements[0])
	c.query(query, nil, nil)
	return query
}

// parseReason says why a statement has no tree.
func parseReason(root node) string {
	message, _ := root["error_message"].(string)
	switch {
	case strings.HasPrefix(message, "Only SELECT"):
		return "only a SELECT statement is allowed"
	case strings.Contains(message, "CTE needs a SELECT"):
		return "only SELECT is allowed in WITH"
	case message == "":
		return "the query cannot be read"
	}
	text := Reason(message)
	if at, ok := root["position"].(string); ok {
		text += " (at character " + at + ")"
	}
	return text
}

// wrapped returns the query inside a statement.
func (c *checker) wrapped(v any) node {
	statement := c.object(v)
	c.enter(statement, "node", "named_param_map")
	if len(c.list(statement["named_param_map"])) > 0 {
		c.refuse("parameters such as ? and $1 are not allowed; write the values")
	}
	return c.object(statement["node"])
}
