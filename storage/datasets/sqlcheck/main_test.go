package sqlcheck

import (
	"context"
	"testing"

	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/internal/domain"
)

// parser parses and checks statements in this process.
type parser struct{ *enginetest.Parser }

func newParser(t testing.TB) *parser { return &parser{enginetest.NewParser(t)} }

func (p *parser) check(sql string, tables []Table) (Checked, error) {
	if err := CheckRequest(sql, tables); err != nil {
		return Checked{}, err
	}
	return Check(context.Background(), sql, tables, p.Parse)
}

// plainTables are the tables that statements are checked against.
func plainTables() []Table {
	columns := func(names ...string) (all []domain.Column) {
		for _, name := range names {
			all = append(all, domain.Column{Name: name, Type: "VARCHAR"})
		}
		return all
	}
	return []Table{
		{Name: "orders", Columns: columns("id", "customer", "total", "day")},
		{Name: "order-items.v2", Columns: columns("order_id", "quantity")},
		{Name: "notes", Columns: columns("document", "passage", "text")},
		{Name: "new"},
	}
}
