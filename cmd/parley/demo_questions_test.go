package main

import (
	"strings"
	"testing"

	"parley/cmd/parley/sample"
)

// TestDemoQuestions asks what people would ask of the sample. What is right comes
// from the rows that were loaded.
func TestDemoQuestions(t *testing.T) {
	t.Parallel()
	d := startDemo(t, t.TempDir(), nil, "--listen", "127.0.0.1:0")
	alice, bob := d.tokenIn(d.page), d.tokenIn(d.bob)
	month := func(o demoOrder) string { return o.OrderedAt[:len("2025-01")] }
	in2025 := func(o demoOrder) string {
		if strings.HasPrefix(o.OrderedAt, "2025") {
			return month(o)
		}
		return ""
	}
	customer := func(o demoOrder) string { return o.buyer.Name }
	cities := func(name string) (n int) {
		for _, c := range sample.Customers() {
			if c.City == name {
				n++
			}
		}
		return n
	}
	sold := func(o demoOrder) float64 { return float64(o.Quantity) }
	// only gives the figure of one key.
	only := func(rows [][]any, key string) [][]any {
		for _, row := range rows {
			if row[0] == key {
				return [][]any{row[1:]}
			}
		}
		return nil
	}
	keys := func(rows [][]any) (names [][]any) {
		for _, row := range rows {
			names = append(names, row[:1])
		}
		return names
	}
	for question, want := range map[string][][]any{
		"How many orders are there?":                            {{len(sample.Orders())}},
		"How many customers are there in Berlin?":               {{cities("Berlin")}},
		"How many orders were returned?":                        only(tally(func(o demoOrder) string { return o.Status }, one), "returned"),
		"What is the total amount of orders for each category?": amountByCategory(),
		"What is the revenue by country?":                       tally(func(o demoOrder) string { return o.buyer.Country }, amount),
		"Who are the top 5 customers by total amount?":          tally(customer, amount)[:5],
		"Which 3 customers have the highest total amount?":      keys(tally(customer, amount)[:3]),
		"How many orders were there per month in 2025?":         tally(in2025, one),
		"What is the total revenue per month?":                  tally(month, amount),
		"Which month had the most orders?":                      keys(tally(month, one)[:1]),
		"How many orders did customers from Vienna place?":      only(tally(func(o demoOrder) string { return o.buyer.City }, one), "Vienna"),
		"What is the total quantity ordered for each product?":  tally(func(o demoOrder) string { return o.product.Name }, sold),
		"How many orders per channel?":                          tally(func(o demoOrder) string { return o.Channel }, one),
		"Which products cost more than 100?":                    keys(productsAbove(100)),
	} {
		sameRows(t, question, d.question(alice, "self", "shop", question), want)
	}
	for question, want := range map[string]string{
		"How much does express delivery cost?": "shipping.md",
		"How do I wash a down sleeping bag?":   "care-sleeping-bag.md",
		"How long are gift cards valid?":       "gift-cards.md",
	} {
		if rows := d.question(bob, "alice", "shop", question); len(rows) == 0 || rows[0]["document"] != want {
			t.Errorf("%s: %v, want %s", question, rows, want)
		}
	}
	kilos := map[string]float64{}
	for _, h := range sample.Harvests() {
		kilos[h.Crop] += h.Weight
	}
	var harvested [][]any
	for crop, weight := range kilos {
		harvested = append(harvested, []any{crop, weight})
	}
	sameRows(t, "the garden", d.question(bob, "self", "garden", "What is the total weight by crop?"), harvested)
}

func productsAbove(price float64) (names [][]any) {
	for _, p := range sample.Products() {
		if p.Price > price {
			names = append(names, []any{p.Name})
		}
	}
	return names
}
