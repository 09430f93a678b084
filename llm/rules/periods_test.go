package rules

import (
	"context"
	"strings"
	"testing"

	"parley/llm"
)

// orchard is an invented world in which things happen over time.
func orchard(tb testing.TB) (*duck, []llm.Dataset) {
	tb.Helper()
	d := newDuck(tb)
	var datasets []llm.Dataset
	for _, t := range []struct{ name, columns, rows string }{
		{"growers", "grower_id BIGINT, name VARCHAR, valley VARCHAR, joined_on DATE",
			`(1,'Mara Quill','Upper','2020-04-01'),(2,'Ned Thorn','Lower','2021-05-02'),(3,'Oda Finch','Lower','2021-06-03')`},
		{"deliveries", "delivery_id BIGINT, grower_id BIGINT, delivered_at TIMESTAMP, fruit VARCHAR, weight BIGINT, amount DOUBLE",
			`(1,1,'2021-08-03 10:00:00','Pears',10,20),(2,1,'2021-08-20 11:00:00','Plums',20,60),(3,2,'2021-09-05 09:30:00','Pears',40,80),
			 (4,3,'2022-08-09 08:00:00','Plums',10,30),(5,1,'2022-09-11 08:00:00','Pears',30,60)`},
	} {
		for _, statement := range []string{"CREATE TABLE " + t.name + " (" + t.columns + ")", "INSERT INTO " + t.name + " VALUES " + t.rows} {
			if _, err := d.db.Exec(statement); err != nil {
				tb.Fatal(err)
			}
		}
		datasets = append(datasets, d.describe(tb, t.name))
	}
	return d, datasets
}

func TestOrchard(t *testing.T) {
	t.Parallel()
	d, datasets := orchard(t)
	for _, test := range [][2]string{
		{"How many deliveries were there per month?", "2021-08,2;2021-09,1;2022-08,1;2022-09,1"},
		{"How many deliveries in each month of 2021?", "2021-08,2;2021-09,1"},
		{"What is the total weight by year?", "2021,70;2022,40"},
		{"Show the weight by year", "2021,70;2022,40"},
		{"How many deliveries per quarter?", "2021-Q3,3;2022-Q3,2"},
		{"What is the average weight per month in 2022?", "2022-08,10.0;2022-09,30.0"},
		{"Which month had the most deliveries?", "2021-08"},
		{"What is the weight of each valley?", "Upper,60;Lower,50"},
		{"What is the amount by fruit?", "Pears,160.0;Plums,90.0"},
		{"What is the total amount of deliveries for each valley?", "Upper,140.0;Lower,110.0"},
		{"What is the average weight per delivery?", "22.0"},
		{"Who are the top 2 growers by total weight?", "Mara Quill,60;Ned Thorn,40"},
		{"Who are the top 2 growers by number of deliveries in 2021?", "Mara Quill,2;Ned Thorn,1"},
		{"What are the top 2 deliveries by weight?", "3;5"},
		{"Top 1 fruit by amount", "Pears,160.0"},
		{"Which 2 growers have the highest total weight?", "Mara Quill;Ned Thorn"},
		{"How many deliveries did growers from Lower make in 2021?", "1"},
	} {
		if got := sorted(ask(t, d, datasets, test[0]), test[0]); got != sorted(test[1], test[0]) {
			t.Errorf("%s\n got %s\nwant %s", test[0], got, test[1])
		}
	}
}

// TestReturnSearched has a word that can begin a question be looked for where it
// does not.
func TestReturnSearched(t *testing.T) {
	t.Parallel()
	texts := llm.Dataset{Name: "texts", Columns: []llm.Column{{Name: "document"}, {Name: "passage"}, {Name: "text"}}}
	for question, want := range map[string]string{"How can I return a lamp?": "return lamp", "Return the rules for lamps": "rules lamps"} {
		got, err := New().WriteQuery(context.Background(), llm.QueryTask{Task: llm.Task{Question: question, Datasets: []llm.Dataset{texts}}})
		if err != nil || got.Search == nil || got.Search.Words != want {
			t.Errorf("%s: %+v, %v", question, got, err)
		}
	}
}

func TestPassageCut(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("word ", 100)
	got := answerStep(llm.Step{Rows: rowsOf([]string{"document", "passage", "text"}, `{"document": "a.md", "passage": 2, "text": "`+text+`"}`)}, 1)
	if !strings.Contains(got, strings.TrimSpace(text)+"\n") {
		t.Errorf("a short passage is cut: %s", got)
	}
}
