package link_test

import (
	"fmt"
	"testing"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

// wide is a catalog of 50 tables with 20 columns each.
func wide() *catalog.Catalog {
	nouns := []string{"order", "customer", "invoice", "payment", "shipment", "product", "store", "employee", "ticket", "visit"}
	words := []string{"name", "city", "status", "amount", "total", "price", "created", "updated", "channel", "country", "category", "quantity", "discount", "phone", "email", "region",
		"manager", "budget", "rating", "level"}
	var all []*catalog.Profile
	for t := range 50 {
		p := &catalog.Profile{Name: fmt.Sprintf("%s_%s_%d", nouns[t%10], words[t%20], t), Rows: 1000}
		for c, w := range words {
			column := catalog.ColumnProfile{Name: nouns[(t+c)%10] + "_" + w, Type: "VARCHAR", Complete: true, Distinct: 40, Filled: 1000}
			for v := range 40 {
				column.Values = append(column.Values, fmt.Sprintf("%s %s %d", words[(c+v)%20], nouns[v%10], v))
			}
			p.Columns = append(p.Columns, column)
		}
		all = append(all, p)
	}
	return catalog.New(all, nil)
}

func BenchmarkValues(b *testing.B) {
	cat := wide()
	tokens := link.Tokenize("What is the total amount of orders from Hamburg in 2024 by channel?")
	b.ReportAllocs()
	for b.Loop() {
		link.Values(tokens, cat, now)
	}
}

func BenchmarkNew(b *testing.B) {
	cat := wide()
	tokens := link.Tokenize("What is the total amount of orders from Hamburg in 2024 by channel?")
	values := link.Values(tokens, cat, now)
	b.ReportAllocs()
	for b.Loop() {
		link.New(tokens, cat, values, nil, nil)
	}
}
