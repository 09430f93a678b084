// Package catalogtest has a catalog for tests: a shop with orders, their items,
// products and customers.
package catalogtest

import (
	"fmt"

	"parley/llm/reader/catalog"
)

// Shop makes the catalog.
func Shop() *catalog.Catalog {
	ids := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint(i + 1)
		}
		return all
	}
	column := func(name, kind string, distinct int64, values ...string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: kind, Values: values, Complete: true, Distinct: distinct, Filled: 9}
	}
	key := func(name string) catalog.ColumnProfile { return column(name, "BIGINT", 9, ids(9)...) }
	return catalog.New([]*catalog.Profile{
		{Name: "customers", Rows: 9, Columns: []catalog.ColumnProfile{
			key("customer_id"), column("name", "VARCHAR", 9, "Ada Moss", "Ben Hill", "Cleo Park", "Dan Fox", "Eve Lind", "Finn Roy", "Gus Orr", "Hal Dean", "Ida Kent"),
			column("city", "VARCHAR", 3, "Berlin", "Hamburg", "Rome"), column("country", "VARCHAR", 2, "Germany", "Italy"),
			column("newsletter", "VARCHAR", 2, "no", "yes"), column("signed_up_on", "DATE", 9, "2023-01-05", "2024-06-30"),
		}},
		{Name: "order_items", Rows: 9, Columns: []catalog.ColumnProfile{
			key("item_id"), column("order_id", "BIGINT", 4, ids(4)...), column("product_id", "BIGINT", 3, ids(3)...),
			column("quantity", "BIGINT", 3, "1", "2", "5"), column("unit_price", "DOUBLE", 4, "2.5", "10", "12.5", "99"),
		}},
		{Name: "orders", Rows: 9, Columns: []catalog.ColumnProfile{
			key("order_id"), column("customer_id", "BIGINT", 5, ids(5)...), column("ordered_at", "TIMESTAMP", 9, "2024-01-03 10:00:00", "2025-05-30 12:30:00"),
			column("status", "VARCHAR", 3, "Cancelled", "Delivered", "Pending"), column("amount", "DOUBLE", 9, "10", "250.5"), column("channel", "VARCHAR", 2, "store", "web"),
		}},
		{Name: "products", Rows: 9, Columns: []catalog.ColumnProfile{
			key("product_id"), column("title", "VARCHAR", 9, "Garden Chair", "Oak Table", "Red Lamp"), column("category", "VARCHAR", 2, "Furniture", "Light"),
			column("price", "VARCHAR", 3, "$12.50", "$1,299.00", "n/a"),
		}},
	}, nil)
}

// Column returns the number of a column by its table and name. It panics where there
// is none.
func Column(c *catalog.Catalog, table, name string) int {
	for i := range c.Columns {
		if c.Columns[i].Name == name && c.Tables[c.Columns[i].Table].Name == table {
			return i
		}
	}
	panic("no column " + table + "." + name)
}
