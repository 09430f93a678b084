package reader_test

import (
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
)

// TestNoneOfNumber asks for rows without a number, which is 0 or missing.
func TestNoneOfNumber(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("loans", "loan BIGINT, member VARCHAR, book VARCHAR, fine DOUBLE, returned DATE",
		"(1, 'Ann', 'Emma', 0, '2024-01-02'), (2, 'Bob', 'Dune', 2.5, NULL), (3, 'Cy', 'Ulysses', NULL, '2024-02-03'), (4, 'Di', 'Emma', 0, NULL), (5, 'Ed', 'It', 4, '2024-03-04')")}
	checkAnswered(t, d, datasets, map[string]string{
		"How many loans are without a fine?":   `{"count":3}`,
		"How many loans have no fine?":         `{"count":3}`,
		"How many loans have a fine?":          `{"count":2}`,
		"How many loans have a missing fine?":  `{"count":1}`,
		"How many loans have an unknown fine?": `{"count":1}`,
		"How many loans have a fine of 0?":     `{"count":2}`,
		"How many loans have no return date?":  `{"count":2}`,
	})
	checkRead(t, d, datasets, "How many loans have no fine?", "without a known fine or with fine 0")
	datasets = []llm.Dataset{d.Table("weather", "city VARCHAR, day DATE, temperature DOUBLE", "('Oslo', '2024-01-01', -3), ('Rome', '2024-01-01', 12), ('Oslo', '2024-02-01', 0), ('Bern', '2024-02-01', NULL)")}
	checkAnswered(t, d, datasets, map[string]string{"How many days have no temperature?": `{"count":1}`})
}

// TestNotAndMissing asks for rows without a value, where others have none at all.
func TestNotAndMissing(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("customers", "customer BIGINT, name VARCHAR, city VARCHAR, country VARCHAR",
		"(1, 'Ann', 'Berlin', 'Germany'), (2, 'Bob', 'Rome', 'Italy'), (3, 'Cy', NULL, 'Italy'), (4, 'Di', 'Berlin', 'Germany'), (5, 'Ed', 'Oslo', 'Norway')")}
	checkRead(t, d, datasets, "How many customers are not from Berlin?", "number of customers with city not “Berlin”, leaving out those without a known city")
	checkRead(t, d, datasets, "How many customers are not from Germany?", "number of customers with country not “Germany”")
}
