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
		{"How many dogs are there?", "How many are there in Rome?", "How many dogs are there in Rome?"},
		{"How many dogs are there in Oslo?", "How many are there in Rome?", "How many dogs are there in Rome?"},
		{"How many dogs were born in 2019?", "How many of them are poodles?", "How many dogs were born in 2019 that are poodles?"},
		{"Which dogs live in Rome?", "Which of them are poodles?", "Which dogs live in Rome that are poodles?"},
		{"Which dogs live in Rome?", "How many are there?", "How many dogs live in Rome?"},
		{"Which dogs live in Rome?", "What is their average age?", "What is the average age of dogs live in Rome?"},
		{"How many dogs per breed?", "Only in Rome", "How many dogs per breed in Rome?"},
		{"How many dogs per breed in 2019?", "And per town?", "How many dogs per town in 2019?"},
		{"What is the average age for each breed?", "And for each town?", "What is the average age for each town?"},
		{"How many dogs were born in March 2019?", "And in May 2020?", "How many dogs were born in May 2020?"},
		{"How many dogs were born in March 2019?", "And in April?", "How many dogs were born in April 2019?"},
		{"Top 5 owners by dogs", "And the top 10?", "Top 10 owners by dogs?"},
		{"How many dogs were sold?", "And adopted?", "How many dogs were adopted?"},
		{"How many dogs are there?", "Which owner has the most dogs?", "Which owner has the most dogs?"},
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

// TestFollowOn asks on and on: each question leans on the one before.
func TestFollowOn(t *testing.T) {
	t.Parallel()
	var earlier []llm.Turn
	for _, test := range [][2]string{
		{"How many dogs are there?", "How many dogs are there?"},
		{"And in Rome?", "How many dogs are there in Rome?"},
		{"And in Oslo?", "How many dogs are there in Oslo?"},
		{"How many of them are poodles?", "How many dogs are there in Oslo that are poodles?"},
		{"Which owner has the most dogs?", "Which owner has the most dogs?"},
	} {
		plan, err := New().Plan(t.Context(), llm.Task{Question: test[0], Earlier: earlier})
		if err != nil || len(plan.Steps) != 1 || plan.Steps[0] != test[1] {
			t.Errorf("%s\n got %v %v\nwant %s", test[0], plan.Steps, err, test[1])
		}
		earlier = append(earlier, llm.Turn{Question: test[0]})
	}
	if _, err := New().Plan(t.Context(), llm.Task{Question: "How many of them are poodles?"}); err == nil {
		t.Error("what is pointed at by nothing was planned")
	}
}
