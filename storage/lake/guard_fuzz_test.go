package lake_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"parley/storage"
	"parley/storage/lake/joinguard"
	"parley/storage/lake/laketest"
	"parley/storage/lake/sqlcheck"
)

// pessimist is an engine by which all joins repeat rows and leave some out.
type pessimist struct{ engine }

func (p pessimist) Query(ctx context.Context, sql string, _ bool) (json.RawMessage, error) {
	_, err := sqlcheck.Check(ctx, sql, p.tables, p.Parser.Parse)
	return json.RawMessage(`{"found":false,"repeated":true,"lost0":1,"lost1":2}`), err
}

// FuzzStatement guards every statement that may run as if its joins were wrong: it is refused,
// or what comes of it may run too.
func FuzzStatement(f *testing.F) {
	for _, sql := range slices.Concat(laketest.Questions, laketest.Bombs, []string{
		`SELECT n.document, sum(o.total), count(*) FROM orders o JOIN notes n ON n.text = o.customer GROUP BY ALL HAVING avg(o.total) > 1 ORDER BY count(o.id)`,
		`SELECT sum(total) FILTER (WHERE day > '2024') FROM orders LEFT JOIN "order-items.v2" i ON i.order_id = id AND quantity = '1' WHERE EXISTS (FROM notes)`,
		`WITH x AS (SELECT * FROM orders), y(a, b) AS (SELECT 1, 2) SELECT count(x.id) FROM x, y, (SELECT text AS t FROM notes) AS z WHERE x.id = y.a AND z.t = x.customer`,
		`SELECT median(id) FROM orders NATURAL JOIN (SELECT customer, day AS d FROM orders) AS o USING (customer) QUALIFY true`,
	}) {
		f.Add(sql)
	}
	p := pessimist{engine{Parser: laketest.NewParser(f)}}
	for name, columns := range map[string][]string{
		"orders": {"id", "customer", "total", "day"}, "order-items.v2": {"order_id", "quantity"}, "notes": {"document", "passage", "text"},
	} {
		t := sqlcheck.Table{Name: name}
		for _, column := range columns {
			t.Columns = append(t.Columns, storage.Column{Name: column, Type: "VARCHAR"})
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
		if err != nil && !errors.Is(err, storage.ErrInvalid) {
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
