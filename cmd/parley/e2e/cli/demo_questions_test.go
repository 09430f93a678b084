package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
)

// What of newcomers' questions must be answered right at least, and may be answered wrong
// at most, in percent; the others are refused.
const (
	leastRight = 40
	mostWrong  = 20
)

// TestDemoQuestions asks what people would ask of the sample. What is right comes
// from the rows that were loaded.
func TestDemoQuestions(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	d := startDemo(t, t.TempDir(), nil, "--listen", "127.0.0.1:0")
	alice, bob := d.tokenIn(d.page), d.tokenIn(d.bob)
	in2025 := func(o demoOrder) string {
		if strings.HasPrefix(o.OrderedAt, "2025") {
			return firstOfMonth(o)
		}
		return ""
	}
	cities := func(name string) (n int) {
		for _, c := range sampleCustomers() {
			if c.City == name {
				n++
			}
		}
		return n
	}
	// only returns the figure of one key.
	only := func(rows [][]any, key string) [][]any {
		for _, row := range rows {
			if row[0] == key {
				return [][]any{row[1:]}
			}
		}
		return nil
	}
	for question, want := range map[string][][]any{
		"How many orders are there?":                    {{len(sampleOrders())}},
		"How many customers are there in Berlin?":       {{cities("Berlin")}},
		"How many orders were returned?":                only(tally(func(o demoOrder) string { return o.Status }, one), "returned"),
		"What is the total amount by category?":         amountByCategory(),
		"What is the revenue by country?":               tally(func(o demoOrder) string { return o.buyer.Country }, amount),
		"How many orders were there per month in 2025?": tally(in2025, one),
		"How many orders per channel?":                  tally(func(o demoOrder) string { return o.Channel }, one),
	} {
		sameRows(t, question, d.question(alice, "self", "shop", question), want)
	}
	right, wrong, asked := 0, 0, newcomersQuestions()
	slack := 0
	if !fulltest.Full() { // every third, which says less about how many are right
		slack = 10
		for i, question := range slices.Sorted(maps.Keys(asked)) {
			if i%3 > 0 {
				delete(asked, question)
			}
		}
	}
	for question, want := range asked {
		switch got := d.question(alice, "self", "shop", question); {
		case answers(got, want):
			right++
		case len(got) > 0:
			wrong++
			t.Logf("%s: %v, want %v", question, got[:min(len(got), 5)], want[:min(len(want), 5)])
		}
	}
	t.Logf("of %d newcomers' questions %d are answered right and %d wrong", len(asked), right, wrong)
	if 100*right < (leastRight-slack)*len(asked) || 100*wrong > (mostWrong+slack)*len(asked) {
		t.Errorf("of %d newcomers' questions %d are answered right and %d wrong", len(asked), right, wrong)
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
	for _, h := range sampleHarvests() {
		kilos[h.Crop] += h.Weight
	}
	var harvested [][]any
	for crop, weight := range kilos {
		harvested = append(harvested, []any{crop, weight})
	}
	sameRows(t, "the garden", d.question(bob, "self", "garden", "What is the total weight by crop?"), harvested)
}

// firstOfMonth is the day that stands for the month of an order.
func firstOfMonth(o demoOrder) string { return o.OrderedAt[:len("2025-01")] + "-01" }

// answers reports whether rows are the wanted ones; figures beside names may be left out
// or added.
func answers(got []map[string]any, want [][]any) bool {
	if len(got) != len(want) {
		return false
	}
	used := make([]bool, len(want))
	for _, row := range got {
		found := false
		for i, values := range want {
			if found = !used[i] && shares(row, values); found {
				used[i] = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// shares reports whether a row has all wanted values, or no others.
func shares(row map[string]any, values []any) bool {
	texts := map[string]bool{}
	for name, v := range row {
		if !strings.HasPrefix(name, "__") {
			texts[fmt.Sprint(v)] = true
		}
	}
	n := 0
	for _, v := range values {
		if texts[fmt.Sprint(v)] {
			n++
		}
	}
	return n > 0 && (n == len(values) || n == len(texts))
}

// newcomersQuestions are what people ask a shop who know none of its columns.
func newcomersQuestions() map[string][][]any {
	var (
		product  = func(o demoOrder) string { return o.product.Name }
		category = func(o demoOrder) string { return o.product.Category }
		brand    = func(o demoOrder) string { return o.product.Brand }
		customer = func(o demoOrder) string { return o.buyer.Name }
		city     = func(o demoOrder) string { return o.buyer.City }
		country  = func(o demoOrder) string { return o.buyer.Country }
		status   = func(o demoOrder) string { return o.Status }
		month    = func(o demoOrder) string { return o.OrderedAt[:len("2025-01")] }
		year     = func(o demoOrder) string { return o.OrderedAt[:len("2025")] }
		all      = func(demoOrder) string { return "all" }

		sold      = func(o demoOrder) float64 { return float64(o.Quantity) }
		returned  = func(o demoOrder) bool { return o.Status == "returned" }
		cancelled = func(o demoOrder) bool { return o.Status == "cancelled" }
		in2025    = func(o demoOrder) bool { return year(o) == "2025" }
		toy       = func(o demoOrder) bool { return o.product.Category == "Toys" }
		lamp      = func(o demoOrder) bool { return strings.HasSuffix(o.product.Name, " Lamp") }
		german    = func(o demoOrder) bool { return country(o) == "Germany" }
		hotel     = func(o demoOrder) bool { return o.buyer.Name == "Hotel Seeblick" }
		viennese  = func(o demoOrder) bool { return city(o) == "Vienna" }
		both      = func(a, b func(demoOrder) bool) func(demoOrder) bool {
			return func(o demoOrder) bool { return a(o) && b(o) }
		}
	)
	years := tally(year, amount)
	newer, older := years[0], years[1]
	change := [][]any{append(older, nil), append(newer, math.Round(10000*(newer[1].(float64)/older[1].(float64)-1))/100)}
	soldOut, pieces, lamps, businesses, desk := [][]any{}, 0, 0, 0, 0.0
	for _, p := range sampleProducts() {
		pieces += p.Stock
		if p.Stock == 0 {
			soldOut = append(soldOut, []any{p.Name})
		}
		if strings.HasSuffix(p.Name, " Lamp") {
			lamps += p.Stock
		}
		if p.Name == "Brass Desk Lamp" {
			desk = p.Price
		}
	}
	for _, c := range sampleCustomers() {
		if c.Segment == "business" {
			businesses++
		}
	}
	return map[string][][]any{
		"Which products are out of stock?":                     soldOut,
		"Who are the top 5 customers by total amount?":         tally(customer, amount)[:5],
		"Which 3 customers have the highest total amount?":     tally(customer, amount)[:3],
		"What is the total revenue per month?":                 tally(firstOfMonth, amount),
		"Which month had the most orders?":                     tally(firstOfMonth, one)[:1],
		"How many orders did customers from Vienna place?":     figures(tally(when(all, viennese), one)),
		"What is the total quantity ordered for each product?": tally(product, sold),
		"Which products cost more than 100?":                   productsThat(func(p sampleProduct) bool { return p.Price > 100 }),
		"How many products are out of stock?":                  {{len(soldOut)}},
		"How many items are in stock?":                         {{pieces}},
		"How many lamps do we have in stock?":                  {{lamps}},
		"Which city has the highest revenue?":                  keys(tally(city, amount)[:1]),
		"Which month had the highest revenue?":                 keys(tally(firstOfMonth, amount)[:1]),
		"Which month was the worst?":                           keys(least(tally(firstOfMonth, amount))),
		"Top 10 cities by revenue":                             tally(city, amount)[:10],
		"Which product was sold the most?":                     keys(tally(product, sold)[:1]),
		"best selling products":                                tally(product, sold)[:10],
		"What is the worst selling product?":                   keys(least(tally(product, sold))),
		"What are the 5 best selling products in 2025?":        tally(when(product, in2025), sold)[:5],
		"best selling toys":                                    tally(when(product, toy), sold),
		"Top 3 products by units sold":                         tally(product, sold)[:3],
		"What is the most popular product?":                    keys(tally(product, sold)[:1]),
		"Which brand earns the most?":                          keys(tally(brand, amount)[:1]),
		"Which category brings in the most money?":             keys(tally(category, amount)[:1]),
		"Which customer spent the most?":                       keys(tally(customer, amount)[:1]),
		"Who is our best customer?":                            keys(tally(customer, amount)[:1]),
		"Which country buys the most?":                         keys(tally(country, sold)[:1]),
		"Which category is returned the most?":                 keys(tally(when(category, returned), one)[:1]),
		"Monthly revenue in 2025":                              tally(when(firstOfMonth, in2025), amount),
		"Orders per city in 2025":                              tally(when(city, in2025), one),
		"orders by status":                                     tally(status, one),
		"What are the sales by brand?":                         tally(brand, amount),
		"What is our revenue?":                                 figures(tally(all, amount)),
		"What was the revenue of lamps in 2025?":               figures(tally(when(all, both(lamp, in2025)), amount)),
		"How much did we earn in March 2025?":                  figures(tally(when(all, func(o demoOrder) bool { return month(o) == "2025-03" }), amount)),
		"How much did customers from Vienna spend in 2025?":    figures(tally(when(all, both(viennese, in2025)), amount)),
		"How many units did we sell in 2025?":                  figures(tally(when(all, in2025), sold)),
		"How many lamps were returned?":                        figures(tally(when(all, both(lamp, returned)), sold)),
		"How many orders were returned in 2025?":               figures(tally(when(all, both(returned, in2025)), one)),
		"How many returned orders are there per category?":     tally(when(category, returned), one),
		"What share of orders was returned?":                   percent(one, returned),
		"What is the return rate?":                             percent(one, returned),
		"What percentage of orders were cancelled?":            percent(one, cancelled),
		"What share of revenue comes from Germany?":            percent(amount, german),
		"Which category has the highest return rate?":          greatestShare(category, returned),
		"How did revenue change from 2024 to 2025?":            change,
		"Did we sell more in 2024 or 2025?":                    change,
		"How many customers ordered more than once?":           {{above(tally(customer, one), 1)}},
		"How many customers have more than 10 orders?":         {{above(tally(customer, one), 10)}},
		"How many customers spent more than 1000 euros?":       {{above(tally(customer, amount), 1000)}},
		"How many customers from Germany ordered in 2025?":     {{len(tally(when(customer, both(german, in2025)), one))}},
		"How many business customers are there?":               {{businesses}},
		"What is the average revenue per month?":               {{tally(all, amount)[0][1].(float64) / float64(len(tally(month, one)))}},
		"Which customers returned something?":                  keys(tally(when(customer, returned), one)),
		"What is the share of returned orders?":                percent(one, returned),
		"What was the biggest order?":                          biggestOrder(),
		"Which products were sold in 2025?":                    keys(tally(when(product, in2025), one)),
		"Which products have never been sold?":                 nil,
		"What did Hotel Seeblick buy?":                         keys(tally(when(product, hotel), one)),
		"How much is the Brass Desk Lamp?":                     {{desk}},
		"What is the average order value?":                     {{tally(all, amount)[0][1].(float64) / float64(len(sampleOrders()))}},
		"What is the average number of orders per customer?":   {{float64(len(sampleOrders())) / float64(len(tally(customer, one)))}},
		"How many customers bought toys in 2025?":              {{len(tally(when(customer, both(toy, in2025)), one))}},
		"What is the revenue by country in 2024?":              tally(when(country, func(o demoOrder) bool { return year(o) == "2024" }), amount),
		"How often was the Brass Desk Lamp ordered?":           figures(tally(when(all, func(o demoOrder) bool { return product(o) == "Brass Desk Lamp" }), one)),
		"How many orders were placed after June 2025?":         figures(tally(when(all, func(o demoOrder) bool { return month(o) > "2025-06" }), one)),
		"How many orders in the first quarter of 2025?":        figures(tally(when(all, func(o demoOrder) bool { return in2025(o) && month(o) < "2025-04" }), one)),
		"How many cancelled and returned orders are there?":    figures(tally(when(all, func(o demoOrder) bool { return returned(o) || cancelled(o) }), one)),
		"What was our best year?":                              keys(tally(year, amount)[:1]),
		"Who ordered most recently?":                           {{customer(newest()), newest().OrderedAt}},
		"When was the last order?":                             {{newest().OrderedAt}},
		"Number of new customers per year":                     newCustomers(),
		"Which products have less than 10 in stock?":           productsThat(func(p sampleProduct) bool { return p.Stock < 10 }),
		"Which products are in the kitchen category?":          productsThat(func(p sampleProduct) bool { return p.Category == "Kitchen" }),
	}
}

// newest is the order that was placed last.
func newest() demoOrder {
	return slices.MaxFunc(demoOrders(), func(a, b demoOrder) int { return strings.Compare(a.OrderedAt, b.OrderedAt) })
}

// newCustomers counts those who signed up, by year.
func newCustomers() (rows [][]any) {
	counts := map[string]int{}
	for _, c := range sampleCustomers() {
		counts[c.SignedUpOn[:len("2025")]]++
	}
	for year, n := range counts {
		rows = append(rows, []any{year, n})
	}
	return rows
}

func productsThat(fits func(sampleProduct) bool) (names [][]any) {
	for _, p := range sampleProducts() {
		if fits(p) {
			names = append(names, []any{p.Name})
		}
	}
	return names
}

// when returns a key to the orders that meet a condition, and none to the others.
func when(key func(demoOrder) string, meets func(demoOrder) bool) func(demoOrder) string {
	return func(o demoOrder) string {
		if !meets(o) {
			return ""
		}
		return key(o)
	}
}

// percent is the share of a figure of all orders that is of those which meet a
// condition.
func percent(figure func(demoOrder) float64, meets func(demoOrder) bool) [][]any {
	part, whole := 0.0, 0.0
	for _, o := range demoOrders() {
		if whole += figure(o); meets(o) {
			part += figure(o)
		}
	}
	return [][]any{{100 * part / whole}}
}

// greatestShare is the key of whose orders the greatest share meets a condition.
func greatestShare(key func(demoOrder) string, meets func(demoOrder) bool) [][]any {
	wholes := map[any]float64{}
	for _, row := range tally(key, one) {
		wholes[row[0]] = row[1].(float64)
	}
	var best any
	share := 0.0
	for _, row := range tally(when(key, meets), one) {
		if s := row[1].(float64) / wholes[row[0]]; s > share {
			best, share = row[0], s
		}
	}
	return [][]any{{best}}
}

// above counts the keys whose figure is above another.
func above(rows [][]any, n float64) (count int) {
	for _, row := range rows {
		if row[1].(float64) > n {
			count++
		}
	}
	return count
}

func least(rows [][]any) [][]any { return rows[len(rows)-1:] }

func keys(rows [][]any) (names [][]any) {
	for _, row := range rows {
		names = append(names, row[:1])
	}
	return names
}

func figures(rows [][]any) (values [][]any) {
	for _, row := range rows {
		values = append(values, row[1:])
	}
	return values
}

func biggestOrder() [][]any {
	biggest := slices.MaxFunc(sampleOrders(), func(a, b sampleOrder) int { return cmp.Compare(a.Amount, b.Amount) })
	return [][]any{{biggest.ID, biggest.Amount}}
}
