package reader_test

import (
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
)

// TestSameNames does not merge two customers of the same name. Cities are not split.
func TestSameNames(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("customers", "customer_id BIGINT, name VARCHAR, city VARCHAR", "(1, 'Ann Lee', 'Bern'), (2, 'Bo Ray', 'Zug'), (3, 'Ann Lee', 'Basel'), (4, 'Cy Fox', 'Bern'), (5, 'Di Kay', 'Chur')"),
		d.Table("orders", "order_id BIGINT, customer_id BIGINT, order_date DATE, product VARCHAR, amount BIGINT",
			`(1, 1, '2024-01-03', 'Desk', 120), (2, 1, '2024-01-20', 'Chair', 60), (3, 2, '2024-02-02', 'Desk', 130), (4, 3, '2024-02-11', 'Lamp', 30), (5, 3, '2024-03-05', 'Desk', 110),
			(6, 4, '2024-03-06', 'Chair', 70), (7, 4, '2024-03-07', 'Chair', 70), (8, 2, '2024-03-08', 'Lamp', 30), (9, 3, '2024-03-09', 'Lamp', 80)`),
	}
	checkAnswers(t, d, datasets, map[string]string{
		"Which customer has the most orders?": `{"name":"Ann Lee","customer_id":3,"count":3}`,
		"total amount per customer": `{"name":"Ann Lee","customer_id":3,"total_amount":220};{"name":"Ann Lee","customer_id":1,"total_amount":180};` +
			`{"name":"Bo Ray","customer_id":2,"total_amount":160};{"name":"Cy Fox","customer_id":4,"total_amount":140}`,
		"total amount per city":                      `{"city":"Bern","total_amount":320};{"city":"Basel","total_amount":220};{"city":"Zug","total_amount":160}`,
		"average total amount per customer":          `{"average_total_amount":175.0}`,
		"total amount per product":                   `{"product":"Desk","total_amount":360};{"product":"Chair","total_amount":200};{"product":"Lamp","total_amount":140}`,
		"How many customers are there?":              `{"count":5}`,
		"How many customers are there in each city?": `{"city":"Bern","count":2};{"city":"Basel","count":1};{"city":"Chur","count":1};{"city":"Zug","count":1}`,
	})
}
