package dialog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader/dialog"
)

func describedBy(t *testing.T, task llm.DescribeTask, rows ...string) llm.Description {
	t.Helper()
	for _, row := range rows {
		task.Sample = append(task.Sample, json.RawMessage(row))
	}
	got, err := dialog.Describe(task)
	if err != nil {
		t.Fatal(err)
	}
	if got.Usage != (llm.Usage{}) {
		t.Errorf("usage %+v", got.Usage)
	}
	return got
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	orders := []string{
		`{"id":9007199254740992,"city":"Berlin","amount":10.5,"day":"2025-01-03","paid":true,"note":"Call\nfirst","tags":["a"],"empty":null,"zip":"1"}`,
		`{"id":9007199254740993,"city":"Paris","amount":-2,"day":"2025-02-04","paid":false,"note":"x","tags":["a"],"empty":"","zip":1}`,
		`{"id":9007199254740995,"city":"Berlin","amount":1e2,"day":null,"paid":true,"note":"y","__metadata":{"score":1}}`,
	}
	got := describedBy(t, llm.DescribeTask{}, orders...)
	const want = "Rows with 9 fields: id, city, amount, day, paid, note, tags, empty and zip. In a sample of 3 rows: " +
		"id from 9007199254740992 to 9007199254740995; city one of Berlin and Paris; amount from -2 to 1e2; " +
		"day from 2025-01-03 to 2025-02-04; 3 different values of note such as Call first, x and y."
	if got.Text != want {
		t.Errorf("described as\n%s\nwant\n%s", got.Text, want)
	}
	for i, want := range []llm.Field{
		{Name: "id", Description: "A whole number from 9007199254740992 to 9007199254740995; different in every row, as far as the sample shows."},
		{Name: "city", Description: "Text, one of Berlin and Paris, as far as the sample shows."},
		{Name: "amount", Description: "A number from -2 to 1e2; different in every row, as far as the sample shows."},
		{Name: "day", Description: "A date from 2025-01-03 to 2025-02-04; missing in 1 of 3 rows, as far as the sample shows."},
		{Name: "paid", Description: "True or false, as far as the sample shows."},
		{Name: "note", Description: "Text such as Call first, x and y; different in every row, as far as the sample shows."},
		{Name: "tags", Description: "A list; missing in 1 of 3 rows, as far as the sample shows."},
		{Name: "empty", Description: "Empty in the sample."},
		{Name: "zip", Description: "Values of several kinds; missing in 1 of 3 rows, as far as the sample shows."},
	} {
		if got.Fields[i] != want {
			t.Errorf("field %d is\n%+v, want\n%+v", i, got.Fields[i], want)
		}
	}
}

// What is described already stays; only gaps are filled.
func TestDescribeKeepsDescriptions(t *testing.T) {
	t.Parallel()
	task := llm.DescribeTask{Description: "Orders of a shop.", Fields: []llm.Field{{Name: "city", Description: "where to"}, {Name: "n"}, {Name: "gone", Description: "no longer sent"}}}
	got := describedBy(t, task, `{"city":"Rome","n":1}`, `{"city":"Rome","n":1}`)
	if got.Text != "Orders of a shop." || got.Fields[0] != task.Fields[0] || got.Fields[2] != task.Fields[2] {
		t.Errorf("described as %+v", got)
	}
	if got.Fields[1].Description != "A whole number, always 1, as far as the sample shows." || task.Fields[1].Description != "" {
		t.Errorf("n: %+v", got.Fields[1])
	}
}

func TestDescribePassages(t *testing.T) {
	t.Parallel()
	got := describedBy(t, llm.DescribeTask{}, `{"document":"a.md","passage":1,"text":"One."}`, `{"document":"a.md","passage":2,"text":"Two."}`)
	if got.Text != "Passages of text: 2 passages of 1 document in the sample such as a.md." {
		t.Error(got.Text)
	}
}

// However long the values and names are, a description stays one.
func TestDescribeStaysShort(t *testing.T) {
	t.Parallel()
	row := map[string]string{}
	for i := range 200 {
		row[strings.Repeat("n", 200)+string(rune('a'+i%26))+string(rune('a'+i/26))] = strings.Repeat("long ", 1000)
	}
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	got := describedBy(t, llm.DescribeTask{}, string(text), string(text))
	if len(got.Text) > 5000 {
		t.Errorf("%d bytes: %s", len(got.Text), got.Text)
	}
	for _, field := range got.Fields {
		if len(field.Description) > 200 {
			t.Fatalf("%d bytes: %s", len(field.Description), field.Description)
		}
	}
}

func TestDescribeTooManyFields(t *testing.T) {
	t.Parallel()
	if _, err := dialog.Describe(llm.DescribeTask{Fields: make([]llm.Field, llm.MaxFields+1)}); err == nil {
		t.Error("too many fields were described")
	}
}
