package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
)

// TestWholeRows shows all columns where a question asks for rows and names none of the
// columns.
func TestWholeRows(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("orders", "order_id BIGINT, customer VARCHAR, amount DOUBLE, ordered_on DATE, status VARCHAR",
		"(1, 'Ann', 120.5, '2024-01-05', 'paid'), (2, 'Bob', 180, '2024-01-09', 'open'), (3, 'Ann', 250.25, '2024-02-11', 'paid'), (4, 'Cid', 90, '2024-02-14', 'cancelled')")}
	const bob = `{"order_id":2,"customer":"Bob","amount":180.0,"ordered_on":"2024-01-09","status":"open"}`
	const third = `{"order_id":3,"customer":"Ann","amount":250.25,"ordered_on":"2024-02-11","status":"paid"}`
	for question, q := range checkAnswers(t, d, datasets, map[string]string{
		"all orders with an amount over 150": bob + ";" + third,
		"show orders over 150":               bob + ";" + third,
	}) {
		if !strings.Contains(q.Reasoning, "all columns of orders") {
			t.Errorf("%s: %s", question, q.Reasoning)
		}
	}
}
