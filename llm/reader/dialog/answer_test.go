package dialog_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/dialog"
)

func rowsOf(columns []string, lines ...string) llm.Rows {
	rows := llm.Rows{Columns: columns}
	for _, l := range lines {
		rows.Rows = append(rows.Rows, json.RawMessage(l))
	}
	return rows
}

// unit returns a column a unit.
func unit(unit, column string, rows llm.Rows) llm.Rows {
	rows.Units = map[string]string{column: unit}
	return rows
}

// by returns rows that were selected by their last column.
func by(rows llm.Rows) llm.Rows {
	rows.Measure = rows.Columns[len(rows.Columns)-1]
	return rows
}

// many returns many names.
func many(n int, truncated bool) llm.Rows {
	rows := llm.Rows{Columns: []string{"name"}, Truncated: truncated}
	for i := range n {
		rows.Rows = append(rows.Rows, json.RawMessage(fmt.Sprintf(`{"name": "N%d"}`, i)))
	}
	return rows
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		step llm.Step
		want string
	}{
		{"a figure", llm.Step{Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The count is **3**. [step 1]"},
		{"a long figure", llm.Step{Rows: rowsOf([]string{"share", "mean", "sum", "version"}, `{"share": 0.0000123456, "mean": -84.4400384985563, "sum": 6.02214076e23, "version": "1.23456"}`)},
			"The share is **0.00001235**, the mean is **-84.44**, the sum is **6.02214076e23** and the version is **1.23456**. [step 1]"},
		{"years", llm.Step{Rows: rowsOf([]string{"year_built", "average_year_built", "year_to_date_sales"}, `{"year_built": 1929, "average_year_built": 1943.6666667, "year_to_date_sales": 12500}`)},
			"The year built is **1929**, the average year built is **1943.67** and the year to date sales are **12,500**. [step 1]"},
		{"a row", llm.Step{Rows: rowsOf([]string{"name", "age"}, `{"name": "Rex", "age": 3}`)}, "The name is **Rex** and the age is **3**. [step 1]"},
		{"words that were not used", llm.Step{Reasoning: "Read as: the number of dogs." + dialog.Unused([]string{"old", "<b>"}), Rows: rowsOf([]string{"count"}, `{"count": 3}`)},
			"The count is **3**. [step 1]\n\nI did not use: “old” and “&lt;b&gt;”."},
		{"nothing", llm.Step{Rows: rowsOf([]string{"name"})}, "None: nothing in the data matches that. [step 1]"},
		{"values", llm.Step{Rows: rowsOf([]string{"name"}, `{"name": "A"}`, `{"name": "B"}`)}, "There are 2 names: **A** and **B**. [step 1]"},
		{"a value that is missing", llm.Step{Rows: rowsOf([]string{"birth_date"}, `{"birth_date": null}`)}, "No birth date is recorded for that. [step 1]"},
		{"a comparison", llm.Step{Rows: rowsOf([]string{"difference", "__total_amount in 2025", "__total_amount in 2024"}, `{"difference": 29121, "__total_amount in 2025": 233893.5, "__total_amount in 2024": 204772.5}`)}, "The difference in total amount is **29,121.00**, or 14 %: **233,893.50** in 2025 against **204,772.50** in 2024. [step 1]"},
		{"a change", llm.Step{Rows: rowsOf([]string{"percent", "__count in 2025", "__count in 2024"}, `{"percent": 15.2, "__count in 2025": 2781, "__count in 2024": 2414}`)}, "The change is **15.2**: **2,781** in 2025 against **2,414** in 2024. [step 1]"},
		{"a share", llm.Step{Reasoning: "Read as: percentage of orders with status “sent”.", Rows: rowsOf([]string{"percent", "__count with status “sent”", "__count in all"}, `{"percent": 5.5, "__count with status “sent”": 55, "__count in all": 1000}`)}, "The percentage of orders with status “sent” is **5.5**: **55** with status “sent” of **1,000** in all. [step 1]"},
		{"a comparison without a side", llm.Step{Rows: rowsOf([]string{"difference", "__count in 2026", "__count in 2025"}, `{"difference": null, "__count in 2026": null, "__count in 2025": 2781}`)}, "No difference is recorded for that. [step 1]"},
		{"a row with a gap", llm.Step{Rows: rowsOf([]string{"name", "birth_date"}, `{"name": "Rex", "birth_date": null}`)}, "The name is **Rex** and the birth date is not recorded. [step 1]"},
		{"values with a gap", llm.Step{Rows: rowsOf([]string{"city"}, `{"city": "Rome"}`, `{"city": null}`)}, "There are 2 cities: **Rome** and 1 not recorded. [step 1]"},
		{"none of a reading", llm.Step{Reasoning: "Read as: all columns of orders with amount above 1,000.5. Joined by a = b.", Rows: rowsOf([]string{"name"})}, "None: no orders with amount above 1,000.5. [step 1]"},
		{"a count under conditions", llm.Step{Reasoning: "Read as: number of cars with city “St. Louis, MO. A” and miles per gallon above 1,000.5. Joined by a = b.", Rows: rowsOf([]string{"count"}, `{"count": 3}`)},
			"The number of cars with city “St. Louis, MO. A” and miles per gallon above 1,000.5 is **3**. [step 1]"},
		{"a count under one of two conditions", llm.Step{Reasoning: "Read as: number of cars with city “A” and year 2020, or with color “red”.", Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The number of cars is **3**. [step 1]"},
		{"a count under three conditions", llm.Step{Reasoning: "Read as: number of cars with city “A”, year 2020 and color “red”.", Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The number of cars is **3**. [step 1]"},
		{"a count of three values", llm.Step{Reasoning: "Read as: number of cars with city “A”, “B” or “C”.", Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The number of cars is **3**. [step 1]"},
		{"a count that leaves out rows", llm.Step{Reasoning: "Read as: number of check in events with a known city in 2024, leaving out those without a known year.", Rows: rowsOf([]string{"count"}, `{"count": 3}`)}, "The number of check in events with a known city is **3**. [step 1]"},
		{"a percentage of three values", llm.Step{Reasoning: "Read as: percentage of cars with city “A”, “B” or “C”.", Rows: rowsOf([]string{"percent"}, `{"percent": 3}`)}, "The percentage of cars is **3**. [step 1]"},
		{"percentages of groups", llm.Step{Reasoning: "Read as: percentage of cars with city “A” per color.", Rows: rowsOf([]string{"color", "percent"}, `{"color": "red", "percent": 3}`, `{"color": "blue", "percent": 2}`)},
			"**red** has the highest percentage of cars with city “A”: **3**, followed by blue (2). [step 1]"},
		{"counts of groups under conditions", llm.Step{Reasoning: "Read as: number of cars with city “A per B” in 2024 per color.", Rows: rowsOf([]string{"color", "count"}, `{"color": "red", "count": 3}`, `{"color": "blue", "count": 2}`)},
			"**red** has the highest number of cars: **3**, followed by blue (2). [step 1]"},
		{"no columns", llm.Step{Rows: rowsOf(nil, `{}`)}, "None: nothing in the data matches that. [step 1]"},
		{"a failure", llm.Step{Instruction: "Why?", Failure: "No."}, "“Why?” could not be answered: No. [step 1]"},
		{"a link", llm.Step{Rows: rowsOf([]string{"n"}, `{"n": "![x](http://evil.example/?q=1) <img src=x>"}`)},
			`The n is **\!\[x\](http:\//evil.example/?q=1) &lt;img src=x&gt;**. [step 1]`},
		{"a measure", llm.Step{Rows: by(rowsOf([]string{"name", "total_amount"}, `{"name": "Ada Lovelace", "total_amount": 1234.5, "__metadata": {"score": 1}}`))},
			"**Ada Lovelace**, with a total amount of **1,234.50**. [step 1]"},
		{"a date as a measure", llm.Step{Rows: by(rowsOf([]string{"name", "birth_date"}, `{"name": "Ada", "birth_date": "1815-12-10"}`))}, "**Ada**, with birth date **10 December 1815**. [step 1]"},
		{"a measure that is missing", llm.Step{Rows: by(rowsOf([]string{"name", "score"}, `{"name": "Ada", "score": null}`))}, "The name is **Ada**. [step 1]"},
		{"values with a measure", llm.Step{Rows: by(rowsOf([]string{"name", "score"}, `{"name": "A", "score": 2}`, `{"name": "B", "score": 1}`))},
			"**A** has the highest score: **2**, followed by B (1). [step 1]"},
		{"rows with a measure", llm.Step{Rows: by(rowsOf([]string{"n", "m", "count"}, `{"n": 1, "m": "a", "count": 7}`, `{"n": 2, "m": "b", "count": 5}`))},
			"**a** has the highest count: **7**, followed by b (5). [step 1]"},
		{"rows", llm.Step{Rows: rowsOf([]string{"n", "m"}, `{"n": 1, "m": "a|b"}`, `{"n": 2, "m": null}`)},
			"**not recorded** has the highest n: **2**, followed by a\\|b (1). [step 1]"},
		{"months", llm.Step{Rows: unit("€", "total_amount", rowsOf([]string{"month", "total_amount"}, `{"month": "2025-05-01", "total_amount": 20100}`, `{"month": "2025-06-01", "total_amount": 24057}`, `{"month": "2025-07-01", "total_amount": 27425}`))},
			"The total amount rose from €20,100 in May 2025 to **€27,425** in **July 2025**, by €7,325 (36 %). [step 1]"},
		{"a peak at the start", llm.Step{Reasoning: "Read as: number of orders per quarter.", Rows: rowsOf([]string{"quarter", "count"}, `{"quarter": "2024-10-01", "count": 9}`, `{"quarter": "2025-01-01", "count": 1}`, `{"quarter": "2025-04-01", "count": 2}`)},
			"The number of orders was highest in **Q4 2024** at **9** and lowest in Q1 2025 at 1; it fell from 9 in Q4 2024 to 2 in Q2 2025, by 7 (78 %). [step 1]"},
		{"days", llm.Step{Rows: rowsOf([]string{"day", "count"}, `{"day": "2025-05-01", "count": 1}`, `{"day": "2025-05-02", "count": null}`, `{"day": "2025-05-03", "count": 0}`, `{"day": "2025-05-04", "count": 3}`)},
			"The count was highest on **4 May 2025** at **3** and lowest on 3 May 2025 at 0; it rose from 1 on 1 May 2025 to 3 on 4 May 2025, by 2 (200 %). [step 1]"},
		{"equal days", llm.Step{Rows: rowsOf([]string{"day", "count"}, `{"day": "2025-05-01", "count": 3}`, `{"day": "2025-05-02", "count": 0}`, `{"day": "2025-05-03", "count": 3}`, `{"day": "2025-05-04", "count": 3}`, `{"day": "2025-05-05", "count": 0}`)},
			"The count was highest on **1 May 2025** (and 2 other days) at **3** and lowest on 2 May 2025 (and 1 other day) at 0; it fell from 3 on 1 May 2025 to 0 on 5 May 2025, by 3 (100 %). [step 1]"},
		{"two years", llm.Step{Rows: rowsOf([]string{"year", "total_amount"}, `{"year": 2024, "total_amount": 204772.5}`, `{"year": 2025, "total_amount": 233893.5}`)},
			"The total amount rose from 204,772.50 in 2024 to **233,893.50** in **2025**, by 29,121.00 (14 %). [step 1]"},
		{"the unit of a name", llm.Step{Rows: unit("kWh", "consumption (kWh)", rowsOf([]string{"consumption (kWh)"}, `{"consumption (kWh)": 1200}`))}, "The consumption is **1,200 kWh**. [step 1]"},
		{"a duration", llm.Step{Rows: unit("min", "average_resolution_minutes", rowsOf([]string{"average_resolution_minutes"}, `{"average_resolution_minutes": 1624.97}`))}, "The average resolution is **27.1 h**. [step 1]"},
		{"a percentage", llm.Step{Reasoning: "Read as: percentage of orders with status “canceled”.", Rows: unit("%", "percent", rowsOf([]string{"percent"}, `{"percent": 5.1588065}`))}, "The percentage of orders with status “canceled” is **5.16 %**. [step 1]"},
		{"shares", llm.Step{Reasoning: "Read as: total amount of orders as a percentage of all per category.", Rows: unit("%", "percent", rowsOf([]string{"category", "percent"}, `{"category": "Toys", "percent": 61.5}`, `{"category": "Books", "percent": 38.5}`))},
			"**Toys** has the highest share of the total amount: **61.5 %**, followed by Books (38.5 %). [step 1]"},
		{"money of two columns", llm.Step{Rows: llm.Rows{Columns: []string{"price", "cost"}, Rows: []json.RawMessage{[]byte(`{"price": 12, "cost": 7.5}`)}, Units: map[string]string{"price": "CHF", "cost": "CHF"}}}, "The price is **CHF\u00a012.00** and the cost is **CHF\u00a07.50**. [step 1]"},
		{"a fall", llm.Step{Rows: rowsOf([]string{"year", "profit"}, `{"year": 2024, "profit": 10}`, `{"year": 2025, "profit": -5}`)},
			"The profit fell from 10 in 2024 to **-5** in **2025**, by 15. [step 1]"},
		{"groups", llm.Step{Rows: unit("€", "total_amount", rowsOf([]string{"category", "total_amount"}, `{"category": "Toys", "total_amount": "42107.50"}`, `{"category": "Outdoor", "total_amount": "166117.50"}`, `{"category": "Garden", "total_amount": "69427.50"}`, `{"category": "Kitchen", "total_amount": "94714.25"}`))},
			"**Outdoor** has the highest total amount: **€166,117.50**, followed by Kitchen (€94,714.25) and Garden (€69,427.50); Toys has the lowest (€42,107.50). [step 1]"},
		{"cents", llm.Step{Rows: rowsOf([]string{"city", "total"}, `{"city": "Rome", "total": 1200}`, `{"city": "Bern", "total": 7.25}`)}, "**Rome** has the highest total: **1,200.00**, followed by Bern (7.25). [step 1]"},
		{"money with a fraction", llm.Step{Rows: unit("$", "total", rowsOf([]string{"total"}, `{"total": -1200.5}`))}, "The total is **-$1,200.50**. [step 1]"},
		{"a tie of two columns", llm.Step{Rows: rowsOf([]string{"name", "customer_id", "count"}, `{"name": "Ann", "customer_id": 1, "count": 2}`, `{"name": "Ann", "customer_id": 3, "count": 2}`, `{"name": "Bo", "customer_id": 2, "count": 1}`)},
			"The count is highest for **Ann, 1** (and 1 other name): **2**. [step 1]"},
		{"a tie", llm.Step{Rows: rowsOf([]string{"city", "count"}, `{"city": "Rome", "count": 2}`, `{"city": "Bern", "count": 2}`, `{"city": "Oslo", "count": 1}`)}, "**Rome** and **Bern** have the highest count: **2** each. [step 1]"},
		{"many ties", llm.Step{Rows: rowsOf([]string{"city", "count"}, `{"city": "Rome", "count": 2}`, `{"city": "Bern", "count": 2}`, `{"city": "Oslo", "count": 2}`, `{"city": "Bonn", "count": 2}`, `{"city": "Graz", "count": 1}`)},
			"4 of 5 cities share the highest count: **2**. [step 1]"},
		{"all equal", llm.Step{Rows: rowsOf([]string{"city", "count"}, `{"city": "Rome", "count": 2}`, `{"city": "Bern", "count": 2}`)}, "The count is the same for all 2 cities: **2**. [step 1]"},
		{"two keys", llm.Step{Rows: rowsOf([]string{"month", "channel", "total"}, `{"month": "2025-05-01", "channel": "web", "total": 1}`, `{"month": "2025-05-01", "channel": "app", "total": 1234567}`)},
			"The total is highest for **May 2025, app**: **1,234,567**. [step 1]"},
		{"a tie", llm.Step{Rows: by(rowsOf([]string{"city", "count"}, `{"city": "Rome", "count": 2}`, `{"city": "Bern", "count": 2}`))}, "**Rome** and **Bern** tie, with a count of **2**. [step 1]"},
		{"the lowest first", llm.Step{Rows: unit("kg", "weight", by(rowsOf([]string{"name", "weight"}, `{"name": "A", "weight": 1.5}`, `{"name": "B", "weight": 2}`)))}, "**A** has the lowest weight: **1.5 kg**, followed by B (2 kg). [step 1]"},
		{"many values", llm.Step{Rows: many(248, false)}, "There are 248 names, such as **N0**, **N1** and **N2**. [step 1]"},
		{"more values", llm.Step{Rows: many(1000, true)}, "There are more than 1,000 names, such as **N0**, **N1** and **N2**. [step 1]"},
		{"a list of things", llm.Step{Rows: rowsOf([]string{"name", "city"}, `{"name": "A", "city": "Rome"}`, `{"name": "B", "city": "Bern"}`)}, "There are **2** rows, with name and city. [step 1]"},
		{"years are no thousands", llm.Step{Rows: rowsOf([]string{"year", "order_id"}, `{"year": 2025, "order_id": 12345}`)}, "The year is **2025** and the order id is **12345**. [step 1]"},
		{"a count", llm.Step{Reasoning: "Read as: number of orders, in 2024.", Rows: rowsOf([]string{"count"}, `{"count": 5195}`)}, "The number of orders is **5,195**. [step 1]"},
		{"passages", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 2, "text": "Dogs bark."}`)},
			"No sentence surely answers that. This is nearest: [step 1]\n\n> **Dogs bark.**\n>\n> — a.md, passage 2"},
		{"the sentence that answers", llm.Step{Instruction: "Within how many days can you return seeds?", Rows: rowsOf([]string{"document", "passage", "text"},
			`{"document": "pay.md", "passage": 1, "text": "# Payment\n\nPay within 30 days. Seeds are paid at once."}`,
			`{"document": "back.md", "passage": 3, "text": "# Returns\n\nSign in first. You can return *seeds* within 4.5 days. Mr. Fox helps.\n\nSeeds grow."}`)},
			"This sentence answers best: [step 1]\n\n> Sign in first. **You can return \\*seeds\\* within 4.5 days.** Mr. Fox helps.\n>\n> — back.md, passage 3\n\nSee also pay.md, passage 1."},
		{"no sentence that answers", llm.Step{Instruction: "Who repairs bikes in town?", Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 2, "text": "Dogs bark at people on bikes."}`)},
			"No sentence surely answers that. This is nearest: [step 1]\n\n> **Dogs bark at people on bikes.**\n>\n> — a.md, passage 2"},
		{"a passage with a heading", llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 1, "text": "## Dogs\n\nThey *bark*."}`)},
			"No sentence surely answers that. This is nearest: [step 1]\n\n> **They \\*bark\\*.**\n>\n> — a.md, passage 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{test.step}}, commonWords, locale.NumbersOf(""), nil).Markdown; got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestAnswerLocales checks that numbers have the separators of the reader, and that years,
// ids, dates and words stay.
func TestAnswerLocales(t *testing.T) {
	t.Parallel()
	months := llm.Step{Rows: unit("€", "total_amount", rowsOf([]string{"month", "total_amount"},
		`{"month": "2025-05-01", "total_amount": "20100.50"}`, `{"month": "2025-06-01", "total_amount": "-1234567.25"}`, `{"month": "2025-07-01", "total_amount": "27425.00"}`))}
	row := llm.Step{Rows: rowsOf([]string{"year", "order_id", "latitude", "weight"}, `{"year": 2025, "order_id": 12345, "latitude": 47.5, "weight": 1234.5}`)}
	for _, test := range []struct {
		locale string
		step   llm.Step
		want   string
	}{
		{"de", months, "The total amount was highest in **July 2025** at **27.425,00\u00a0€** and lowest in June 2025 at -1.234.567,25\u00a0€; it rose from 20.100,50\u00a0€ in May 2025 to 27.425,00\u00a0€ in July 2025, by 7.324,50\u00a0€ (36 %). [step 1]"},
		{"de-CH", months, "The total amount was highest in **July 2025** at **€27’425.00** and lowest in June 2025 at -€1’234’567.25; it rose from €20’100.50 in May 2025 to €27’425.00 in July 2025, by €7’324.50 (36 %). [step 1]"},
		{"fr", months, "The total amount was highest in **July 2025** at **27\u202f425,00\u00a0€** and lowest in June 2025 at -1\u202f234\u202f567,25\u00a0€; it rose from 20\u202f100,50\u00a0€ in May 2025 to 27\u202f425,00\u00a0€ in July 2025, by 7\u202f324,50\u00a0€ (36 %). [step 1]"},
		{"en-IN", months, "The total amount was highest in **July 2025** at **€27,425.00** and lowest in June 2025 at -€12,34,567.25; it rose from €20,100.50 in May 2025 to €27,425.00 in July 2025, by €7,324.50 (36 %). [step 1]"},
		{"de", row, "The year is **2025**, the order id is **12345**, the latitude is **47,5** and the weight is **1.234,5**. [step 1]"},
		{"de", llm.Step{Rows: many(1000, true)}, "There are more than 1.000 names, such as **N0**, **N1** and **N2**. [step 1]"},
	} {
		if got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{test.step}}, commonWords, locale.NumbersOf(test.locale), nil).Markdown; got != test.want {
			t.Errorf("%s: got %q", test.locale, got)
		}
	}
}

func TestAnswerOfSeveralSteps(t *testing.T) {
	t.Parallel()
	got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{
		{Instruction: "How many dogs are there?", Rows: rowsOf([]string{"count"}, `{"count": 3}`)},
		{Instruction: "Who owns <Rex>?", Failure: "Not understood: “owns”."},
	}}, commonWords, locale.NumbersOf(""), nil).Markdown
	const want = "How many dogs are there? The count is **3**. [step 1]\n\n“Who owns &lt;Rex&gt;?” could not be answered: Not understood: “owns”. [step 2]"
	if got != want {
		t.Errorf("got %q", got)
	}
	if got := dialog.Answer(llm.AnswerTask{}, commonWords, locale.NumbersOf(""), nil).Markdown; got == "" {
		t.Error("no answer to no steps")
	}
}

// commonWords embeds texts so that those are near that have words in common.
func commonWords(texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 1<<10)
		words := strings.Fields(strings.ToLower(strings.Trim(text, "?.")))
		for _, w := range words {
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(strings.Trim(w, ".?*")))
			vectors[i][hash.Sum32()%(1<<10)] = float32(1 / math.Sqrt(float64(len(words))))
		}
	}
	return vectors, nil
}

func TestAnswerLimits(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf(`{"a": %d, "b": %q}`, i, strings.Repeat("x", 5000)))
	}
	got := dialog.Answer(llm.AnswerTask{Steps: []llm.Step{{Rows: rowsOf([]string{"a", "b"}, lines...)}}}, commonWords, locale.NumbersOf(""), nil).Markdown
	if len(got) > 1000 || !strings.Contains(got, "has the highest a: **999**") {
		t.Errorf("%d bytes: %.100s", len(got), got)
	}
}
