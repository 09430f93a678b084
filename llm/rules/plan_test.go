package rules

import (
	"strings"
	"testing"

	"parley/llm"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"How many dogs are there?":                                              "How many dogs are there?",
		"How many dogs are there? What is the average age of cats?":             "How many dogs are there?|What is the average age of cats?",
		"How many dogs are there in Rome, and what is the price of a dog?":      "How many dogs are there in Rome|what is the price of a dog?",
		"Rex won on Monday. Who won the next race?":                             "Rex won on Monday. Who won the next race?",
		"Which dogs are old? List their names.":                                 "Which dogs are old? List their names.",
		"What are the breeds, and how many dogs are of each?":                   "What are the breeds, and how many dogs are of each?",
		"How many dogs does Dr. Lee have?":                                      "How many dogs does Dr. Lee have?",
		"Who owns Rex, and which town is he from, and how many dogs are there?": "Who owns Rex, and which town is he from|how many dogs are there?",
	} {
		plan, err := New().Plan(t.Context(), llm.Task{Question: question})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Steps, "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", question, got, want)
		}
	}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	for _, test := range [][3]string{
		{"How many dogs are in Rome?", "and in Berlin?", "How many dogs are in Berlin?"},
		{"How many dogs were born in 2019?", "What about 2020?", "How many dogs were born in 2020?"},
		{"How many dogs are there?", "and in Berlin?", "How many dogs are there in Berlin?"},
		{"How many dogs are in New York?", "how about Los Angeles?", "How many dogs are in Los Angeles?"},
		{"How many dogs are in Rome?", "And how many cats are there?", "how many cats are there?"},
	} {
		plan, err := New().Plan(t.Context(), llm.Task{Question: test[1], Earlier: []llm.Turn{{Question: test[0]}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(plan.Steps, "|"); got != test[2] {
			t.Errorf("%s / %s\n got %s\nwant %s", test[0], test[1], got, test[2])
		}
	}
}
