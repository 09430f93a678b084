package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
	"parley/llm/reader/rank"
)

// TestUnusedWords names or refuses words that only resemble what other words name, and those
// that count something else.
func TestUnusedWords(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("matches", "match_id BIGINT, date DATE, home_team VARCHAR, away_team VARCHAR, home_goals BIGINT, away_goals BIGINT, attendance BIGINT",
			"(1, '2024-03-01', 'Lions', 'Bears', 2, 1, 1200), (2, '2024-03-08', 'Bears', 'Wolves', 0, 0, 800), (3, '2024-03-15', 'Wolves', 'Lions', 1, 3, 900), (4, '2024-03-22', 'Hawks', 'Lions', 2, 2, 1500)"),
		d.Table("daily", "day DATE, city VARCHAR, max_temp DOUBLE, rainfall DOUBLE, sunshine_hours DOUBLE",
			"('2024-06-01', 'Bern', 21.5, 0, 8), ('2024-06-02', 'Bern', 31, 0, 10), ('2024-06-03', 'Zug', 18.2, 12.4, 1), ('2024-07-05', 'Zug', 33.4, 0, 11)"),
		d.Table("employees", "employee_id BIGINT, name VARCHAR, department VARCHAR, salary BIGINT", "(1, 'Ann Lee', 'Sales', 5000), (2, 'Bo Ray', 'Sales', 4000), (3, 'Cy Fox', 'IT', 6000)"),
	}
	r := reader.New()
	for question, word := range map[string]string{
		"How many matches did Lions win?":                "win",
		"How many matches did Lions lose?":               "lose",
		"How many matches did the Lions draw?":           "draw",
		"How many hot days in July?":                     "hot",
		"How many rainy days in Bern?":                   "rainy",
		"total sunshine hours on weekends":               "weekends",
		"How many senior employees are in Sales?":        "senior",
		"What is the average salary of senior employees": "senior",
		"How many sunny days were there in Bern?":        "",
	} {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		if named := word != "" && strings.Contains(q.Reasoning, "Not used: “"+word+"”"); err == nil && !named {
			t.Errorf("%s: %s %s", question, q.SQL, q.Reasoning)
		}
	}
	checkAnswers(t, d, datasets, map[string]string{"How many matches are there?": `{"count":4}`, "average salary per department": `{"department":"IT","average_salary":6000.0};{"department":"Sales","average_salary":4500.0}`})
}

// TestCalculations refuses, or marks, questions whose calculation or condition it does not read.
func TestCalculations(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("sales", "city VARCHAR, amount BIGINT, day DATE, code VARCHAR",
		"('Berlin', 7, '2024-01-01', 'a'), ('Paris', 5, '2024-01-02', 'b'), ('Berlin', 7, '2024-01-03', 'c'), ('Rome', 4, '2024-01-04', 'd')")}
	r := reader.New()
	for _, question := range []string{
		"total amount only if amount is even", "total amount if price doubled", "sum of amount * 2", "total amount + 10", "amount / 0",
	} {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		if err == nil && rank.IsSure(q.Confidence) {
			t.Errorf("%s: %s, %.2f", question, q.SQL, q.Confidence)
		}
	}
	checkAnswers(t, d, datasets, map[string]string{"total amount": `{"total_amount":23}`})
}

// TestJoinColumnIsNamed says which of two references a reading follows.
func TestJoinColumnIsNamed(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("teams", "team VARCHAR, city VARCHAR, coach VARCHAR, founded BIGINT", "('Lions', 'Bern', 'Ann Roe', 1901), ('Bears', 'Basel', 'Bo Ray', 1920), ('Wolves', 'Zug', 'Cy Fox', 1911), ('Hawks', 'Chur', 'Di Kay', 1950)"),
		d.Table("matches", "match_id BIGINT, date DATE, home_team VARCHAR, away_team VARCHAR, home_goals BIGINT, away_goals BIGINT, attendance BIGINT",
			`(1, '2024-03-01', 'Lions', 'Bears', 2, 1, 1200), (2, '2024-03-08', 'Bears', 'Wolves', 0, 0, 800), (3, '2024-03-15', 'Wolves', 'Lions', 1, 3, 900),
			(4, '2024-03-22', 'Hawks', 'Lions', 2, 2, 1500), (5, '2024-04-01', 'Lions', 'Wolves', 0, 1, 1100), (6, '2024-04-08', 'Bears', 'Hawks', 4, 1, 700)`),
	}
	q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "Which team played the most matches?"))
	if words, _, _ := strings.Cut(q.Reasoning, " Joined by"); err == nil && !strings.Contains(words, "by home team") && !strings.Contains(words, "by away team") {
		t.Errorf("%s: %s", q.SQL, q.Reasoning)
	}
}
