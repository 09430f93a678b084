package dialog_test

import (
	"context"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"":                         "",
		"How many dogs are there?": "How many dogs are there?",
		"How many dogs are there? What is the average age of cats?":                                         "How many dogs are there?|What is the average age of cats?",
		"How many dogs are there?\nHow many cats are there":                                                 "How many dogs are there?|How many cats are there",
		"How many dogs are there? And how many cats are there?":                                             "How many dogs are there?|how many cats are there?",
		"How many dogs are there in Rome, and what is the price of a cat?":                                  "How many dogs are there in Rome|what is the price of a cat?",
		"Which breed has the highest average age, and what is the average age?":                             "Which breed has the highest average age, and what is the average age?",
		"What is the most common breed, and how many are there?":                                            "What is the most common breed, and how many are there?",
		"Which dogs live in Rome? Tell me the count.":                                                       "Which dogs live in Rome? Tell me the count.",
		"How many dogs are there? List the number for each breed.":                                          "How many dogs are there? List the number for each breed.",
		"What are the names of breeds, and what are the prices for each?":                                   "What are the names of breeds, and what are the prices for each?",
		"Rex won on Monday. Who won the next race?":                                                         "Rex won on Monday. Who won the next race?",
		"Which dogs are old? List their names.":                                                             "Which dogs are old? List their names.",
		"Which dogs are old? Show the names.":                                                               "Which dogs are old? Show the names.",
		"How many dogs are there? List all cats.":                                                           "How many dogs are there?|List all cats.",
		"What are the breeds, and how many dogs are of each?":                                               "What are the breeds, and how many dogs are of each?",
		"What is the average age? How many dogs are there for each breed?":                                  "What is the average age?|How many dogs are there for each breed?",
		"How many dogs does Dr. Lee have?":                                                                  "How many dogs does Dr. Lee have?",
		"How many dogs weigh more than 3.5 kg?":                                                             "How many dogs weigh more than 3.5 kg?",
		"Who owns Rex, and which town is he from, and how many dogs are there?":                             "Who owns Rex, and which town is he from|how many dogs are there?",
		"Count dogs? Count cats here? Count birds here? Count fish here? Count cows here? Count pigs here?": "Count dogs? Count cats here? Count birds here? Count fish here? Count cows here? Count pigs here?",
	} {
		if got := strings.Join(dialog.Steps(question), "|"); got != want {
			t.Errorf("%s\n got %s\nwant %s", question, got, want)
		}
	}
}

// Whatever is asked, there are one to five steps, and nothing panics.
func FuzzQuestions(f *testing.F) {
	f.Add("How many dogs are there? And how many cats are there, and which are old?")
	f.Add("❤️ ️️ \u0301 5\ufe0f\u20e3 'orders\" ¿ of these")
	cat := catalogtest.Shop()
	passages := []llm.Dataset{{Name: "guide", Rows: 1}}
	f.Fuzz(func(t *testing.T, question string) {
		if steps := dialog.Steps(question); len(steps) == 0 || len(steps) > llm.MaxSteps {
			t.Errorf("%q: %q", question, steps)
		}
		tokens := link.Tokenize(question)
		dialog.HasBackReference(tokens)
		dialog.Language(tokens)
		if len(dialog.Suggestions(tokens, cat)) == 0 {
			t.Errorf("%q: no suggestions", question)
		}
		if _, ok, err := dialog.Search(t.Context(), failing{llm.ErrBadQuery}, tokens, nil, passages); ok || err != nil {
			t.Errorf("%q: %v, %v", question, ok, err)
		}
	})
}

func TestHasBackReference(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"How many of them are poodles?":                        true,
		"And how many of those are old?":                       true,
		"Which of these live in Rome?":                         true,
		"What is their average age?":                           false,
		"When was he born?":                                    false,
		"Which of these is the oldest?":                        true,
		"Which of them is the oldest?":                         true,
		"How many of these dogs are old?":                      false,
		"How much is it?":                                      true,
		"Show those":                                           true,
		"And in Berlin?":                                       true,
		"and per town?":                                        true,
		"Only in Rome":                                         true,
		"the same for cats":                                    true,
		"How many dogs are there?":                             false,
		"List the dogs and their owners":                       false,
		"Which owners have dogs and how many of them are old?": false,
		"How long does it take to train a dog?":                false,
		"How many of those who live in Rome have a dog?":       false,
		"Which dogs are older than the average of those that live in Rome?": false,
		"What about gift wrapping?":                                         false,
		"For each town, how many dogs are there?":                           false,
		"In 2024, which dogs won?":                                          false,
		"Show the dogs of Ada":                                              false,
		"":                                                                  false,
		"Who has the most dogs and what is her address?":                    false,
	} {
		if got := dialog.HasBackReference(link.Tokenize(question)); got != want {
			t.Errorf("%s: %v", question, got)
		}
	}
}

// failing fails for all queries.
type failing struct{ err error }

func (f failing) Query(context.Context, string) (llm.Rows, error) { return llm.Rows{}, f.err }
