package reader_test

import (
	"errors"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestAverageOfGroups averages counts and totals of groups, and refuses an average by group of
// a column that the question does not name.
func TestAverageOfGroups(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("customers", "customer_id BIGINT, name VARCHAR, city VARCHAR", "(1, 'Ann Lee', 'Bern'), (2, 'Bo Ray', 'Zug'), (3, 'Cy Fox', 'Bern')"),
		d.Table("orders", "order_id BIGINT, customer_id BIGINT, order_date DATE, product VARCHAR, amount BIGINT",
			"(1, 1, '2024-01-03', 'Desk', 120), (2, 1, '2024-01-20', 'Chair', 60), (3, 2, '2024-02-02', 'Desk', 130), (4, 3, '2024-02-11', 'Lamp', 30), (5, 3, '2024-02-15', 'Desk', 110)"),
	}
	checkAnswers(t, d, datasets, map[string]string{
		"average number of orders per month":               `{"average_count":2.5}`,
		"What is the average total amount per product?":    `{"average_total_amount":150.0}`,
		"What is the average number of orders per product": `{"average_count":1.6666666666666667}`,
		"average amount per product":                       `{"product":"Desk","average_amount":120.0};{"product":"Chair","average_amount":60.0};{"product":"Lamp","average_amount":30.0}`,
	})
	for _, question := range []string{"average per month", "average orders per month"} {
		q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %s, %v", question, q.SQL, err)
		}
	}
}
