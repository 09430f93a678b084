package reader_test

import (
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader"
	"parley/llm/reader/rank"
)

var now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

// acceptAll says of every query that it runs and gives something of its own.
func acceptAll(sql string) (rank.Result, bool, error) { return rank.Result{Key: sql}, true, nil }

// TestRead asks plain questions of the shop: the built-in weights belong to the code
// that makes their input.
func TestRead(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for question, want := range map[string]string{
		"How many orders are there?":            `SELECT count(*) AS "count" FROM "orders"`,
		"how many customers are from Hamburg":   `SELECT count(*) AS "count" FROM "customers" WHERE "city" = 'Hamburg'`,
		"total amount of orders by channel":     `SELECT "channel", sum("amount") AS "total_amount" FROM "orders" GROUP BY "channel" ORDER BY sum("amount") DESC NULLS LAST, "channel"`,
		"total amount of orders per channel":    `SELECT "channel", sum("amount") AS "total_amount" FROM "orders" GROUP BY "channel" ORDER BY sum("amount") DESC NULLS LAST, "channel"`,
		"orders in 2024, how many?":             `SELECT count(*) AS "count" FROM "orders" WHERE ("ordered_at" >= DATE '2024-01-01' AND "ordered_at" < DATE '2025-01-01')`,
		"Which customers have no orders?":       `SELECT "name" FROM "customers" WHERE "customer_id" NOT IN (SELECT "customer_id" FROM "orders" WHERE "customer_id" IS NOT NULL)`,
		"What is the average amount of orders?": `SELECT avg("amount") AS "average_amount" FROM "orders"`,
	} {
		for range 2 {
			readings, _, err := reader.Read(question, cat, nil, now, acceptAll)
			if err != nil || len(readings) == 0 {
				t.Fatalf("%s: %d readings, %v", question, len(readings), err)
			}
			if got := readings[0].SQL; got != want {
				t.Errorf("%s\n got %s\nwant %s\n(%.2f)", question, got, want, readings[0].Confidence)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	cat := catalogtest.Shop()
	for b.Loop() {
		if _, _, err := reader.Read("What is the total amount of orders from Hamburg in 2024 by channel?", cat, nil, now, acceptAll); err != nil {
			b.Fatal(err)
		}
	}
}
