package joinguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/internal/domain"
	"parley/storage/datasets/joinguard"
	"parley/storage/datasets/sqlcheck"
)

// countingEngine counts the calls of an engine, whose measurements can fail.
type countingEngine struct {
	engine
	failure error
	calls   int
}

func (e *countingEngine) Parse(ctx context.Context, sql string) ([]byte, error) {
	e.calls++
	return e.engine.Parse(ctx, sql)
}

func (e *countingEngine) Query(ctx context.Context, sql string, lasting bool) (json.RawMessage, error) {
	e.calls++
	if e.failure != nil {
		return nil, e.failure
	}
	return e.engine.Query(ctx, sql, lasting)
}

// shop has three orders of two customers. The first order has two items, the last one none.
func shop(t *testing.T) engine {
	t.Helper()
	e := engine{Parser: enginetest.NewParser(t)}
	for _, table := range []struct{ name, columns, rows string }{
		{"customers", "id, city", "(1, 'Bonn'), (2, 'Kiel')"},
		{"orders", "id, customer_id, total", "(11, 1, 30), (12, 1, 20), (13, 2, 70)"},
		{"items", "order_id, sku", "(11, 'a'), (11, 'b'), (12, 'a')"},
		{"tickets", "customer_id, hours", "(1, 3), (1, 4), (2, 1), (2, 2)"},
	} {
		if err := e.Engine.Exec("CREATE TABLE " + table.name + " AS SELECT * FROM (VALUES " + table.rows + ") v(" + table.columns + ")"); err != nil {
			t.Fatal(err)
		}
		known := sqlcheck.Table{Name: table.name}
		for column := range strings.SplitSeq(table.columns, ", ") {
			known.Columns = append(known.Columns, domain.Column{Name: column, Type: "VARCHAR"})
		}
		e.tables = append(e.tables, known)
	}
	return e
}

const repeatedSum = "SELECT sum(o.total) FROM orders o JOIN items i ON i.order_id = o.id"

func TestGuard(t *testing.T) {
	t.Parallel()
	e := shop(t)
	broken := errors.New("the worker is gone")
	for name, test := range map[string]struct {
		sql     string
		failure error
		wantErr error
		says    string // in the error, or in a note
		rows    string // of the rewritten statement; "" if it is not rewritten
		silent  bool   // the engine is not asked
	}{
		"a failed measurement":            {sql: repeatedSum, failure: broken, wantErr: broken},
		"a measurement that is not valid": {sql: repeatedSum, failure: domain.Errorf(domain.ErrInvalid, "unknown")},
		"a sum of what is looked up": {sql: "SELECT sum(o.total) FROM items i JOIN orders o ON o.id = i.order_id",
			wantErr: domain.ErrInvalid, says: "sum(o.total) takes the same row of `orders` several times"},
		"combinations of rows": {sql: "SELECT count(*) FROM customers c JOIN orders o ON o.customer_id = c.id JOIN tickets t ON t.customer_id = c.id WHERE c.id = 1",
			wantErr: domain.ErrInvalid, says: "count(*) takes every combination"},
		"no join":                        {sql: "SELECT sum(total) FROM orders", silent: true},
		"a right sum":                    {sql: "SELECT c.city, sum(o.total) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1"},
		"min and max":                    {sql: "SELECT min(o.total), max(o.total) FROM orders o LEFT JOIN items i ON i.order_id = o.id", silent: true},
		"left-out rows":                  {sql: "SELECT o.total, i.sku FROM orders o JOIN items i ON i.order_id = o.id", says: "1 row of `orders` is left out"},
		"a filter":                       {sql: repeatedSum, says: "Each row of `orders` counts once", rows: `[50]`},
		"rows that groups do not repeat": {sql: "SELECT sum(o.total) AS s FROM orders o JOIN items i ON i.order_id = o.id GROUP BY i.sku"},
		"a subquery":                     {sql: "SELECT s FROM (SELECT count(o.id) AS s FROM orders o LEFT JOIN items i ON i.order_id = o.id)", says: "counts once", rows: `[3]`},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := sqlcheck.DecodeTree(e.Tree(t, test.sql))
			if err != nil {
				t.Fatal(err)
			}
			counting := &countingEngine{engine: e, failure: test.failure}
			got, err := joinguard.Guard(t.Context(), root, e.tables, counting)
			if !errors.Is(err, test.wantErr) || (err == nil) != (test.wantErr == nil) {
				t.Fatalf("error %v", err)
			}
			if said := fmt.Sprint(err, got.Notes); !strings.Contains(said, test.says) {
				t.Errorf("it says %s", said)
			}
			if (counting.calls == 0) != test.silent {
				t.Errorf("%d calls of the engine", counting.calls)
			}
			if (got.SQL != "") != (test.rows != "") {
				t.Fatalf("rewritten to %q", got.SQL)
			}
			if test.rows == "" {
				return
			}
			var values []any
			rows, err := e.run(got.SQL)
			for _, row := range rows {
				var cells map[string]any
				err = errors.Join(err, json.Unmarshal(row, &cells))
				delete(cells, "__metadata")
				for _, cell := range cells {
					values = append(values, cell)
				}
			}
			if fmt.Sprint(values) != test.rows || err != nil {
				t.Errorf("%s returns %v, %v", got.SQL, values, err)
			}
		})
	}
}

// TestIncompleteTree guards trees that have a join but are not those of a statement.
func TestIncompleteTree(t *testing.T) {
	t.Parallel()
	join := map[string]any{"type": "JOIN"}
	for _, root := range []map[string]any{
		{"statements": nil, "x": join},
		{"statements": []any{}, "x": join},
		{"statements": []any{join}},
		{"statements": []any{map[string]any{"node": "SELECT"}}, "x": join},
	} {
		if got, err := joinguard.Guard(t.Context(), root, nil, nil); err == nil || got.SQL != "" {
			t.Errorf("%v: %+v, %v", root, got, err)
		}
	}
	if got, err := joinguard.Guard(t.Context(), nil, nil, nil); err != nil || got.SQL != "" {
		t.Errorf("no tree: %+v, %v", got, err)
	}
}
