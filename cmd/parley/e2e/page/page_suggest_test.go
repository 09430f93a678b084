package page

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// demoServer starts a demo that has no language model, for its two users.
func demoServer(t testing.TB) (alice, bob e2etest.Client) {
	t.Helper()
	p := e2etest.Start(t, t.TempDir(), []string{"TMPDIR=" + t.TempDir()}, "demo", "--listen", "127.0.0.1:0")
	e2etest.Eventually(t, func() bool { return strings.Contains(p.More.String(), "Ctrl-C ends") })
	tokens := regexp.MustCompile(`#token=(\S+)`).FindAllStringSubmatch(p.More.String(), -1)
	if len(tokens) != 2 {
		t.Fatalf("the screen is\n%s", &p.More)
	}
	return e2etest.Client{Process: p, Token: tokens[0][1]}, e2etest.Client{Process: p, Token: tokens[1][1]}
}

// demo opens the page of a demo.
func demo(t *testing.T) (e2etest.Client, *tab) {
	t.Helper()
	c, _ := demoServer(t)
	return c, browse(t, c.URL+"/#token="+c.Token)
}

// suggested returns the questions that the page suggests.
func (b *tab) suggested() []string {
	b.t.Helper()
	return get[[]string](b, `[...document.querySelectorAll('.suggestions button')].map((each) => each.textContent)`)
}

// TestPageSuggests asks all that the page suggests in the demo: to begin with, after
// results, and in the place of a question that is not understood.
func TestPageSuggests(t *testing.T) {
	onlyFull(t)
	c, b := demo(t)
	b.sees(".suggestions", "How many")
	all := b.suggested()
	for _, question := range []string{
		"How many orders are there?", "What is the total amount by category?", "How many customers are there for each country?",
		"What is the average price of products for each category?", "revenue by month", "Which city has the most customers?",
	} {
		b.asks("nl2ql", question)
		b.is(`document.querySelector('article.turn:last-of-type .suggestions')`)
		if n := len(b.suggested()); n > 3 {
			t.Errorf("%s has %d suggestions", question, n)
		}
		all = append(all, b.suggested()...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	t.Logf("%d suggestions", len(all))
	for _, question := range all {
		var said any
		if status := c.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "naturalLanguageQuery": question}, &said); status != http.StatusOK {
			t.Errorf("%s: %d %v", question, status, said)
		}
	}

	// A word that is similar to a name of the data is corrected by a press.
	for i, agent := range []string{"nl2ql", "assistant"} {
		b.asks(agent, "What is the total prize by category?")
		b.sees("article.turn:last-of-type .answer", "Did you mean “price”?")
		b.pressIn(b.last("article.turn"), "What is the total price by category?")
		b.is(`[...document.querySelectorAll('article.turn')].at(-1).dataset.state === 'completed'`)
		b.sees("article.turn:last-of-type .question", "What is the total price by category?")
		b.is(`document.activeElement.id === 'question'`)
		if i == 0 {
			b.sees("article.turn:last-of-type .result-count", "5 rows")
		}
	}
}
