package reader_test

import (
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
)

// TestAges asks for ages where the data has years and dates of birth. Today is in 2025.
func TestAges(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("members", "name VARCHAR, city VARCHAR, birth_year BIGINT, joined DATE",
		"('Ann', 'Berlin', 1950, '2010-03-04'), ('Bob', 'Paris', 1992, '1995-05-06'), ('Cy', 'Rome', 1975, '1999-12-31'), ('Di', 'Berlin', 1960, '2000-01-01'), ('Ed', 'Rome', 1998, '2020-07-08')")}
	checkAnswered(t, d, datasets, map[string]string{
		"How many members are older than 60?":      `{"count":2}`,
		"What is the average age?":                 `{"average_age":50.0}`,
		"What is the average age of members?":      `{"average_age":50.0}`,
		"average age by city":                      `{"city":"Berlin","average_age":70.0};{"city":"Rome","average_age":38.5};{"city":"Paris","average_age":33.0}`,
		"How many members are younger than 40?":    `{"count":2}`,
		"What is the name of the oldest member?":   `{"name":"Ann","birth_year":1950}`,
		"How many members were born in the 1990s?": `{"count":2}`,
		"How many members were born in the 90s?":   `{"count":2}`,
		"How many members joined in the 90s?":      `{"count":2}`,
		"How many members were born before 1970?":  `{"count":2}`,
		"What is the average birth year?":          `{"average_birth_year":1975.0}`,
	})
	datasets = []llm.Dataset{d.Table("people", "person VARCHAR, town VARCHAR, date_of_birth DATE",
		"('Ann', 'Berlin', '1950-03-04'), ('Bob', 'Paris', '1992-05-06'), ('Cy', 'Rome', '1975-12-31'), ('Di', 'Berlin', '1960-01-01')")}
	checkAnswered(t, d, datasets, map[string]string{
		"How many people are older than 60?":    `{"count":2}`,
		"How many people are younger than 40?":  `{"count":1}`,
		"Who is the oldest person?":             `{"person":"Ann","town":"Berlin","date_of_birth":"1950-03-04"}`,
		"How many people were born in the 90s?": `{"count":1}`,
	})
}
