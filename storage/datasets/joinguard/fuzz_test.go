package joinguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/joinguard"
	"parley/storage/datasets/sqlcheck"
)

// repeatingJoins is an engine by which all joins repeat rows and leave some out.
type repeatingJoins struct{ engine }

func (r repeatingJoins) Query(ctx context.Context, sql string, _ bool) (json.RawMessage, error) {
	_, err := sqlcheck.Check(ctx, sql, r.tables, r.Parser.Parse)
	return json.RawMessage(`{"found":false,"repeated":true,"lost0":1,"lost1":2}`), err
}

// wrongTrees is an engine whose worker changes one value of each tree.
type wrongTrees struct {
	repeatingJoins
	change func(any) any
	// trees caches the trees of statements.
	trees map[string][]byte
}

func (w wrongTrees) Parse(ctx context.Context, sql string) ([]byte, error) {
	tree, ok := w.trees[sql]
	if !ok {
		var err error
		if tree, err = w.repeatingJoins.Parse(ctx, sql); err != nil {
			return nil, err
		}
		w.trees[sql] = tree
	}
	if w.change == nil {
		return tree, nil
	}
	var root any
	if err := json.Unmarshal(tree, &root); err != nil {
		return nil, err
	}
	return json.Marshal(w.change(root))
}

func (w wrongTrees) Query(context.Context, string, bool) (json.RawMessage, error) {
	return json.RawMessage(`{"found":false,"repeated":true,"lost0":1,"lost1":2}`), nil
}

func (w wrongTrees) Print(context.Context, []byte) (string, error) { return "SELECT 1", nil }

// changed copies a tree with another value at a position, and returns how many values it has.
func changed(v any, at int, to any) (any, int) {
	count := 0
	var walk func(any) any
	walk = func(v any) any {
		count++
		if count-1 == at {
			return to
		}
		switch v := v.(type) {
		case map[string]any:
			all := map[string]any{}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				all[key] = walk(v[key])
			}
			return all
		case []any:
			all := []any{}
			for _, item := range v {
				all = append(all, walk(item))
			}
			return all
		}
		return v
	}
	return walk(v), count
}

// TestWrongTrees guards trees in which one value is another, in the statement or in what the
// engine parses: that is an error at most.
func TestWrongTrees(t *testing.T) {
	t.Parallel()
	tables := []sqlcheck.Table{
		{Name: "orders", Columns: []domain.Column{{Name: "id"}, {Name: "customer"}, {Name: "total"}}},
		{Name: "items", Columns: []domain.Column{{Name: "order_id"}, {Name: "quantity"}}},
	}
	l := wrongTrees{repeatingJoins{engine{Parser: enginetest.NewParser(t), tables: tables}}, nil, map[string][]byte{}}
	for _, sql := range []string{
		`SELECT customer, sum(total) AS s FROM orders JOIN items ON order_id = id GROUP BY 1`,
		`WITH x AS (SELECT id, total FROM orders), y AS (SELECT * FROM items) SELECT sum(x.total) FILTER (WHERE id > 1), quantity FROM x LEFT JOIN y ON order_id = id GROUP BY quantity`,
		`SELECT count(o.id) FROM orders o, items i WHERE i.order_id = o.id AND i.quantity > 1`,
	} {
		tree, err := l.Parse(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		var root map[string]any
		if err := json.Unmarshal(tree, &root); err != nil {
			t.Fatal(err)
		}
		if _, err := joinguard.Guard(t.Context(), root, tables, l); err != nil && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: %v", sql, err)
		}
		_, values := changed(root, -1, nil)
		for at := range values {
			others := []any{nil, "x", []any{}, map[string]any{}, []any{"x"}}
			if !fulltest.Full() {
				others = others[at%len(others):][:1]
			}
			for _, to := range others {
				wrong, _ := changed(root, at, to)
				tree, _ := wrong.(map[string]any)
				_, _ = joinguard.Guard(t.Context(), tree, tables, l)
				lying := l
				lying.change = func(v any) any { v, _ = changed(v, at, to); return v }
				_, _ = joinguard.Guard(t.Context(), root, tables, lying)
			}
		}
	}
}

// FuzzStatement guards every statement that may run as if its joins were wrong: it is refused,
// or what comes of it may run too.
func FuzzStatement(f *testing.F) {
	for _, sql := range slices.Concat(datasetstest.Questions, datasetstest.Bombs, []string{
		`SELECT n.document, sum(o.total), count(*) FROM orders o JOIN notes n ON n.text = o.customer GROUP BY ALL HAVING avg(o.total) > 1 ORDER BY count(o.id)`,
		`SELECT sum(total) FILTER (WHERE day > '2024') FROM orders LEFT JOIN "order-items.v2" i ON i.order_id = id AND quantity = '1' WHERE EXISTS (FROM notes)`,
		`WITH x AS (SELECT * FROM orders), y(a, b) AS (SELECT 1, 2) SELECT count(x.id) FROM x, y, (SELECT text AS t FROM notes) AS z WHERE x.id = y.a AND z.t = x.customer`,
		`SELECT median(id) FROM orders NATURAL JOIN (SELECT customer, day AS d FROM orders) AS o USING (customer) QUALIFY true`,
	}) {
		f.Add(sql)
	}
	p := repeatingJoins{engine{Parser: enginetest.NewParser(f)}}
	for name, columns := range map[string][]string{
		"orders": {"id", "customer", "total", "day"}, "order-items.v2": {"order_id", "quantity"}, "notes": {"document", "passage", "text"},
	} {
		t := sqlcheck.Table{Name: name}
		for _, column := range columns {
			t.Columns = append(t.Columns, domain.Column{Name: column, Type: "VARCHAR"})
		}
		p.tables = append(p.tables, t)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 4<<10 || sqlcheck.CheckRequest(sql, p.tables) != nil {
			return
		}
		checked, err := sqlcheck.Check(t.Context(), sql, p.tables, p.Parser.Parse)
		if err != nil {
			return
		}
		guarded, err := joinguard.Guard(t.Context(), checked.Tree, p.tables, p)
		if err != nil && !errors.Is(err, domain.ErrInvalid) {
			t.Fatal(err)
		}
		if guarded.SQL == "" {
			return
		}
		if _, err := sqlcheck.Check(t.Context(), guarded.SQL, p.tables, p.Parser.Parse); err != nil {
			t.Errorf("%s: %v", guarded.SQL, err)
		}
	})
}
