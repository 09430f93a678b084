package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/llm/reader/catalog"
)

// wide makes profiles of many columns with many values.
func wide(tables, columns int) []*catalog.Profile {
	nouns := strings.Fields("ship harbor cargo crew voyage storm anchor sailor captain lighthouse island coast bridge river lake forest mountain village farm field")
	limit := catalog.ValueLimit(columns)
	var all []*catalog.Profile
	for i := range tables {
		p := &catalog.Profile{Name: fmt.Sprintf("%s_%s_%d", nouns[i%20], nouns[(i/20+7)%20], i), Rows: 5000}
		for j := range columns {
			c := catalog.ColumnProfile{Name: fmt.Sprintf("%s_%s_%d", nouns[j%20], nouns[(j+i)%20], j), Type: "VARCHAR", Distinct: 5000, Filled: 5000}
			if j == 0 {
				c.Name = nouns[i%20] + "_id"
			}
			if j == 1 {
				c.Name = nouns[(i+1)%20] + "_id"
				c.Distinct = 300
			}
			if j%3 == 0 {
				c.Type = "BIGINT"
			}
			for n := range limit {
				c.Values = append(c.Values, fmt.Sprintf("value %04d of %d", n, j))
			}
			p.Columns = append(p.Columns, c)
		}
		all = append(all, p)
	}
	return all
}

// BenchmarkNewPart makes the part of one wide dataset.
func BenchmarkNewPart(b *testing.B) {
	profile := wide(1, 50)[0]
	for b.Loop() {
		b.ReportMetric(float64(catalog.NewPart(profile).Size()), "bytes")
	}
}

// BenchmarkJoin makes the catalog of a question about wide datasets.
func BenchmarkJoin(b *testing.B) {
	var parts []*catalog.Part
	for _, p := range wide(12, 50) {
		parts = append(parts, catalog.NewPart(p))
	}
	for b.Loop() {
		catalog.Join(parts, nil)
	}
}
