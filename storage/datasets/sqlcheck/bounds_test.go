package sqlcheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

// nestedQuery reads a table under many names in queries nested in each other;
// the innermost names a column of the outermost again and again.
func nestedQuery(table string, levels, relations, references int) string {
	var open strings.Builder
	for level := range levels {
		open.WriteString("SELECT (")
		if level == levels-1 {
			open.WriteString("SELECT [" + strings.Repeat("a.c9,", references) + "1])")
		}
	}
	var closing strings.Builder
	for level := range levels {
		from := make([]string, relations)
		for i := range from {
			from[i] = fmt.Sprintf("%s b%d", table, i)
		}
		if level == levels-1 {
			from[0] = "wide a"
		}
		if level > 0 {
			closing.WriteString(")")
		}
		closing.WriteString(" FROM " + strings.Join(from, ","))
	}
	return open.String() + closing.String()
}

// Checks of wide tables, many relations and many references end, whatever they
// are multiplied by.
func TestWideQueriesAreChecked(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	wide := []Table{wideTable(domain.MaxColumns)}
	allButLast := strings.Repeat("c0,", 9_000)
	columns := make([]string, 1_900)
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	names := make([]string, maxRelations+1)
	for i := range names {
		names[i] = fmt.Sprintf("n%d AS (SELECT 1)", i)
	}
	for name, c := range map[string]struct{ sql, refusal string }{
		"references":      {nestedQuery("wide", 5, 150, 9_000), ""},
		"other columns":   {nestedQuery("(SELECT 1)", 5, 150, 5_000), ""},
		"relations":       {nestedQuery("wide", 20, 150, 1_000), "the query reads from too many tables"},
		"names in WITH":   {"WITH " + strings.Join(names, ", ") + " SELECT 1", "the query reads from too many tables"},
		"uses of WITH":    {"WITH a AS (SELECT * FROM wide) SELECT " + strings.Repeat("(SELECT max(c0) FROM a), ", 900) + "1", ""},
		"stars":           {"SELECT " + strings.Repeat("(SELECT x.c0 FROM (SELECT *, 1 AS y FROM wide) x), ", 900) + "1", "the query makes too many columns; name those that it needs"},
		"renamed columns": {"SELECT " + strings.Repeat("(SELECT x FROM wide w(x)), ", 900) + "1", "the query makes too many columns; name those that it needs"},
		"all renamed":     {"SELECT " + strings.Repeat("(SELECT c0 FROM wide w("+strings.Join(columns, ",")+")), ", 4) + "1", ""},
		"shared columns":  {"SELECT " + allButLast + "1 FROM wide" + strings.Repeat(" JOIN wide USING (c0)", 150), ""},
		"a name that is not": {"SELECT " + allButLast + strings.Repeat("c", 20) + " FROM wide" + strings.Repeat(", wide", 150),
			"column `cccccccccccccccccccc` does not exist in `wide`; its columns are "},
		"a long alias": {"SELECT nothing FROM (SELECT 1 AS \"" + strings.Repeat("x", 30_000) + "\") a", "column `nothing` does not exist in `a`; its columns are `xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error, 1)
			go func() {
				_, err := p.check(c.sql, wide)
				done <- err
			}()
			select {
			case err := <-done:
				switch {
				case c.refusal == "" && err != nil:
					t.Error(err)
				case c.refusal != "" && (err == nil || !strings.HasPrefix(err.Error(), c.refusal) || len(err.Error()) > 2*maxRefusal):
					t.Errorf("refused with %.2000v", err)
				}
			case <-time.After(waittest.Limit):
				t.Fatal("the check does not end")
			}
		})
	}
}

// expiring is a context that ends when it has been asked so many times.
type expiring struct {
	context.Context
	left int
}

func (c *expiring) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A check ends where it is when nobody waits for it any more.
func TestCanceledCheckEnds(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	tables := []Table{wideTable(100)}
	tree := p.Tree(t, wideQuery(100, 200))
	whole := &expiring{t.Context(), 1 << 30}
	if _, err := Validate(whole, tree, tables); err != nil {
		t.Fatal(err)
	}
	nodes := 1<<30 - whole.left
	if nodes < 600 {
		t.Errorf("only %d looks at the context", nodes)
	}
	for _, after := range []int{0, 1, nodes / 2, nodes - 1} {
		ctx := &expiring{t.Context(), after}
		if _, err := Validate(ctx, tree, tables); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled after %d of %d nodes: %v", after, nodes, err)
		}
		// Once to see that it has ended, once to say why.
		if ctx.left < -2 {
			t.Errorf("canceled after %d nodes, it went on for %d", after, -ctx.left)
		}
	}
}
