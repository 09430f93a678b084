package dialog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	many := slices.Repeat([]string{strings.Repeat("x", 300)}, 20)
	for _, test := range []struct {
		err  error
		want string
	}{
		{dialog.WithExamples(&llm.UnanswerableError{Reason: "No."}, []string{"How many orders are there for each status?", "What is the average amount of orders?", "How many orders are there?"}),
			"No. You can ask, for example: “How many orders are there for each status?”, “What is the average amount of orders?” or “How many orders are there?”"},
		{dialog.WithExamples(&llm.UnanswerableError{Reason: "No."}, nil), "No."},
		{dialog.NotUnderstood(dialog.Refusal{Unread: []string{"organic", "fair"}}), "I found nothing for “organic” and “fair” in the data."},
		{dialog.NotUnderstood(dialog.Refusal{}), "I do not understand what the question asks for."},
		{dialog.NotUnderstood(dialog.Refusal{Unread: many}), "I found nothing for “xxx"},
		{dialog.Ambiguous("total amount of orders", "average amount of orders", "Total amount of orders", "Average amount of orders"),
			"The question can be read in two ways: (1) total amount of orders; (2) average amount of orders. Ask again in words that fit only the one you mean."},
		{dialog.NotUnderstood(dialog.Refusal{Guess: "number of orders"}), "I am not sure what you mean. Is it the number of orders?"},
		{dialog.NotUnderstood(dialog.Refusal{Unread: []string{"prize"}, Names: []string{"price", "size"}}), "I found nothing for “prize” in the data. Did you mean “price” or “size”?"},
		{dialog.NothingFound("orders with amount above “900”"), "Nothing was found. The question was read as: orders with amount above “900”."},
		{dialog.NoData(), "There is no data to answer from."},
		{dialog.EmptyQuestion(), "The question has no words."},
		{dialog.NoPreviousQuestion(), "The question points at something"},
	} {
		var refused *llm.UnanswerableError
		if !errors.As(test.err, &refused) || !strings.HasPrefix(test.err.Error(), test.want) || len(test.err.Error()) > 1200 {
			t.Errorf("got  %v\nwant %s", test.err, test.want)
		}
	}
}

// A text that asks for no data has an answer of its own, but not as the name of a dataset or as a
// follow-up.
func TestNoQuestion(t *testing.T) {
	t.Parallel()
	known := func(stem string) bool { return stem == "summari" || stem == "summary" }
	for text, want := range map[string]string{
		"Thanks": "You are welcome.", "Thank you very much!": "You are welcome.", "great": "You are welcome.", "Hi there": "Hello", "delete all tickets": "I only read", "Please remove the orders of 2024": "I only read",
		"You are stupid": "I am sorry", "you're useless!": "I am sorry",
		"Give me an overview of the data": "overview", "What can I ask?": "overview", "help": "overview", "Which datasets are there?": "overview", "What data do you have?": "overview",
		"Show the summary": "", "How many datasets are there?": "", "drop in sales by month": "", "good customers": "", "Are you sure?": "", "show all data": "", "": "", "List the tables": "",
	} {
		tokens, got := link.Tokenize(text), ""
		if err := dialog.NoQuestion(tokens, true); err != nil {
			got = err.Error()
		} else if dialog.AsksOverview(tokens, known) {
			got = "overview"
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
	if err := dialog.NoQuestion(link.Tokenize("remove the canceled ones"), false); err != nil {
		t.Errorf("a follow-up: %v", err)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for question, want := range map[string]string{
		"How many orders came by carrier?":         "How many orders are there for each status?|What is the total amount of orders?|How many orders are there?",
		"Orders of the channel phone":              "How many orders are there for each channel?|What is the total amount of orders?|How many orders are there?",
		"Which customers are loyal?":               "How many customers are there for each city?|How many customers are there?|How many orders are there for each status?",
		"countries of customers with a membership": "How many customers are there for each country?|How many customers are there?|How many orders are there for each status?",
		"What is the weight of products?":          "How many products are there for each category?|What is the average price of products?|How many products are there?",
		"unit price by supplier":                   "What is the average unit price of order items?|How many order items are there?|How many products are there for each category?",
		"xyzzy":                                    "How many orders are there for each status?|How many products are there for each category?|How many customers are there for each city?",
		"":                                         "How many orders are there for each status?|How many products are there for each category?|How many customers are there for each city?",
	} {
		if got := strings.Join(dialog.Suggestions(link.Tokenize(question), cat)[:3], "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", question, got, want)
		}
	}
}

// Keys, lists, years, labels and long names are not suggested; nor is a name that says nothing.
func TestSuggestionsOfUnusualTables(t *testing.T) {
	t.Parallel()
	column := func(name, kind string, distinct int64) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: kind, Distinct: distinct, Filled: 100}
	}
	table := func(name string, columns ...catalog.ColumnProfile) *catalog.Catalog {
		return catalog.New([]*catalog.Profile{{Name: name, Rows: 100, Columns: columns}}, nil)
	}
	for _, test := range []struct {
		cat  *catalog.Catalog
		want string
	}{
		{table("films", column("film_id", "BIGINT", 100), column("title", "VARCHAR", 90), column("release_year", "BIGINT", 20), column("tags", "VARCHAR[]", 5)), "How many films are there?"},
		{table("sheet1", column("Region", "VARCHAR", 4), column("Revenue", "DOUBLE", 80)), "How many rows are there for each Region?|What is the total Revenue of rows?|How many rows are there?"},
		{table("city", column("zip_code", "VARCHAR", 20), column("population", "BIGINT", 99)), "What is the average population of cities?|How many cities are there?"},
		{table("tbl_emp", column("emp_id", "BIGINT", 100)), "How many employees are there?"},
		{table("notes", column("author_email", "VARCHAR", 5)), "How many notes are there?"},
		{table("notes", column(strings.Repeat("long ", 9), "VARCHAR", 5)), "How many notes are there?"},
		{table("t"), "How many rows are there?"},
		{catalog.New(nil, nil), ""},
	} {
		if got := strings.Join(dialog.Suggestions(nil, test.cat), "|"); got != test.want {
			t.Errorf("got %s\nwant %s", got, test.want)
		}
	}
}
