package reader_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// sweets are the tables of a shop.
func sweets(tb testing.TB) (*ducktest.Duck, []llm.Dataset) {
	tb.Helper()
	d := ducktest.New(tb)
	return d, []llm.Dataset{
		d.Table("orders", "id BIGINT, product VARCHAR, amount DOUBLE, status VARCHAR, ordered_on DATE",
			"(1, 'Truffle', 12.5, 'open', '2025-01-03'), (2, 'Nougat', 8, 'open', '2025-02-11'), (3, 'Truffle', 4, 'closed', '2025-02-20'), (4, 'Praline', 40, 'open', '2024-12-01')"),
		d.Table("bars", "bar_id BIGINT, title VARCHAR, price DOUBLE, maker VARCHAR", "(1, 'Dark', 3, 'Ada'), (2, 'Milk', 2, 'Bo'), (3, 'White', 5, 'Ada')"),
		d.Table("makers", "maker VARCHAR, town VARCHAR", "('Ada', 'Rome'), ('Bo', 'Oslo')"),
	}
}

// TestEmptyDataset asks about a dataset without rows, whose name is no word.
func TestEmptyDataset(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	datasets = append(datasets, llm.Dataset{Name: "leer", Version: "1"})
	for question, want := range map[string]string{"How many leer are there?": "leer has no rows.", "How many orders are there?": ""} {
		_, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
		if got := fmt.Sprint(err); want != "" && !strings.Contains(got, want) || want == "" && err != nil {
			t.Errorf("%s: %s, want %q", question, got, want)
		}
	}
}

// What of questions that the data does not answer must be refused, and be refused with
// the word that is not there, in percent.
const (
	leastRefused = 70
	leastNamed   = 50
)

// TestRefusals asks for what the data does not hold.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	questions := map[string]string{
		"How many orders are there by country?":                        "country",
		"What is the total amount by country?":                         "country",
		"How many orders are there for each warehouse?":                "warehouse",
		"How many orders came from Berlin?":                            "Berlin",
		"How many orders were refunded?":                               "refunded",
		"How many orders have 70 % cocoa?":                             "cocoa",
		"What is the average amount of organic orders?":                "organic",
		"What is the total amount of orders with free shipping?":       "shipping",
		"Which products have the highest amount of sugar?":             "sugar",
		"What is the average amount of orders of returning customers?": "customers",
		"List the products of orders sorted by weight.":                "weight",
		"Show all orders ordered by popularity in descending order":    "popularity",
		"How many bars have 70 % cocoa?":                               "cocoa",
		"Which quantum flux capacitors exploded yesterday?":            "capacitors",
		"Who is the CEO's favourite singer?":                           "singer",
		"What is the weather in Paris?":                                "weather",
	}
	refused, named := 0, 0
	for question, word := range questions {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var unanswerable *llm.UnanswerableError
		switch {
		case err == nil:
			t.Logf("answered, %.2f: %s: %s", q.Confidence, question, q.SQL)
			continue
		case !errors.As(err, &unanswerable):
			t.Errorf("%s: %v", question, err)
		case strings.Contains(err.Error(), "“"+word):
			named++
		default:
			t.Logf("%s: %v", question, err)
		}
		refused++
		if !strings.Contains(err.Error(), "You can ask, for example: “") && len(unanswerable.Suggestions) == 0 {
			t.Errorf("%s: %v", question, err)
		}
	}
	t.Logf("of %d questions %d are refused, %d with the word", len(questions), refused, named)
	if 100*refused < leastRefused*len(questions) || 100*named < leastNamed*len(questions) {
		t.Errorf("of %d questions %d are refused, %d with the word", len(questions), refused, named)
	}
}

// TestRefusalExamples asks what refusals say can be asked, and emoji alone.
func TestRefusalExamples(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	for _, question := range []string{"How many orders came from Berlin?", "Which bars are gluten free?", "Who is the oldest maker?", "flux capacitors"} {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		if err == nil {
			t.Errorf("%s is answered: %s", question, q.SQL)
			continue
		}
		if !strings.Contains(err.Error(), "You can ask, for example: “") {
			t.Errorf("%s: no examples: %v", question, err)
		}
	}
	if _, err := r.WriteQuery(t.Context(), step(d, datasets, "🍫❤️")); err == nil || !strings.Contains(err.Error(), "no words") {
		t.Errorf("emoji: %v", err)
	}
	for _, reply := range []string{"yes", "Yes, please.", "(2)", "2"} {
		if _, err := r.WriteQuery(t.Context(), step(d, datasets, reply)); err == nil || !strings.Contains(err.Error(), "a reply") {
			t.Errorf("%s: %v", reply, err)
		}
	}
}

// TestUnrelatedGuess asks what has nothing to do with the data: the refusal guesses nothing, and
// has examples of what can be asked.
func TestUnrelatedGuess(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("trips", "city VARCHAR, day DATE, cost DOUBLE", "('Oslo', '2025-05-01', 120.5), ('Porto', '2025-05-09', 80), ('Oslo', '2025-06-02', 99.5)")}
	r := reader.New()
	for _, question := range []string{"Will it rain tomorrow?", "Will it snow next week?", "Who won yesterday?"} {
		_, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) || strings.Contains(refused.Reason, "may mean") || strings.Contains(refused.Reason, "two ways") || !strings.Contains(refused.Reason, "You can ask, for example: “How many") {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// TestCorrections suggests the question with a name of the data in the place of a word that is
// similar, and asks what is suggested.
func TestCorrections(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	for question, want := range map[string]string{
		"What is the average prize of bars?":        "What is the average price of bars?",
		"How many orders are there for each stats?": "How many orders are there for each status?",
		"How many bars are there for each markerr?": "How many bars are there for each maker?",
	} {
		_, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) || len(refused.Suggestions) == 0 || refused.Suggestions[0] != want {
			t.Errorf("%s: %v %q", question, err, refused)
			continue
		}
		for _, suggested := range refused.Suggestions {
			if _, err := r.WriteQuery(t.Context(), step(d, datasets, suggested)); err != nil {
				t.Errorf("%s suggests %q: %v", question, suggested, err)
			}
		}
	}
}

// TestOtherLanguages refuses questions in the language in which they were asked.
func TestOtherLanguages(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	for question, word := range map[string]string{
		"Wie viele Bestellungen gibt es?": "Englisch", "Combien de commandes y a-t-il ?": "anglais",
	} {
		_, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// TestBackReferenceWithoutQuestion refuses a question that goes on from none.
func TestBackReferenceWithoutQuestion(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	const question = "How many of them are open?"
	var unanswerable *llm.UnanswerableError
	if _, err := r.WriteQuery(t.Context(), step(d, datasets, question)); !errors.As(err, &unanswerable) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Plan(t.Context(), llm.Task{Question: question}); !errors.As(err, &unanswerable) {
		t.Errorf("got %v", err)
	}
	if plan, err := r.Plan(t.Context(), llm.Task{Question: question, Earlier: []llm.Turn{{Question: "How many orders are there?"}}}); err != nil || len(plan.Steps) != 1 {
		t.Errorf("got %v, %v", plan, err)
	}
}

// TestPassages searches texts for what they speak of, and for nothing else.
func TestPassages(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	guide := d.Table("guide", "document VARCHAR, passage BIGINT, text VARCHAR",
		`('wrapping.md', 1, 'Gift wrapping costs 3 euros. Brown paper is free.'), ('storage.md', 1, 'Keep truffles cool and dry. They melt at 30 degrees.')`)
	guide.Description = "Advice for customers: wrapping, storage."
	r := reader.New()
	for question, search := range map[string]bool{
		"How much does gift wrapping cost?": true, "Why do truffles melt?": true, "How many orders are there?": false, "What is the average amount of orders?": false,
		"How many complaints were there?": false, "What is the capital of France?": false,
	} {
		q, err := r.WriteQuery(t.Context(), step(d, append(datasets[:3:3], guide), question))
		if strings.Contains(q.SQL, `FROM "guide"`) != search {
			t.Errorf("%s: %+v, %v", question, q, err)
		}
	}
	if q, err := r.WriteQuery(t.Context(), step(d, []llm.Dataset{guide}, "How much does gift wrapping cost?")); err != nil || !strings.Contains(q.SQL, `FROM "guide"`) {
		t.Errorf("passages alone: %+v, %v", q, err)
	}
}

// TestUnusualQuestions reads what is hardly a question without harm.
func TestUnusualQuestions(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	name := d.Table(`odd "name"; DROP`, `"a""b" VARCHAR, "c'd" BIGINT`, `('o''brien', 1), ('x'' OR 1=1', 2)`)
	r := reader.New()
	for _, question := range []string{"❤️", "How many orders ❤️?", "️️", "\u0301", "5\ufe0f\u20e3 orders", "\x00\xff", strings.Repeat("orders ", 5000), "What is the c d of o'brien?",
		`What is the c d of "x' OR 1=1"?`, "How many odd names are there?", "'; DROP TABLE orders; --"} {
		q, err := r.WriteQuery(t.Context(), step(d, append(datasets[:3:3], name), question))
		var unanswerable *llm.UnanswerableError
		if err != nil && !errors.As(err, &unanswerable) {
			t.Errorf("%.40q: %v", question, err)
		}
		if err == nil {
			rowsOf(t, d, q.SQL)
		}
		_, _ = r.Plan(t.Context(), llm.Task{Question: question})
	}
}

// TestConcurrent asks many questions at once.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			q, err := r.WriteQuery(t.Context(), step(d, datasets, "How many poodles are there?"))
			if err != nil || !strings.Contains(q.SQL, "poodle") {
				t.Errorf("%s, %v", q.SQL, err)
			}
		})
	}
	wait.Wait()
}

// TestSeveralQuestions asks what one query cannot answer, or what is not read to its end.
func TestSeveralQuestions(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	for question, want := range map[string]string{
		"How many dogs are there? How many owners are there?":             "several questions",
		strings.Repeat("very ", 50) + "many dogs, but only poodles?":      "too long",
		"How many dogs are there?" + strings.Repeat(" ", 5000) + "Hello?": "too long",
	} {
		_, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", question, err, want)
		}
	}
}
