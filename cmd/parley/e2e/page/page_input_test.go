package page

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPageIsAskedBack answers what an agent asks: by a button, in words, after a reload, and
// not at all.
func TestPageIsAskedBack(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	newSales(c)
	b := browse(t, p.URL)
	b.signIn(c.Token)
	b.sees(".namespace", "sales")

	b.asks("nl2ql", whichSales)
	b.sees(".asks", "Which do you mean?")
	b.is(`document.querySelectorAll('.options button').length === 2`)
	b.press("total amount of sales south")
	b.is(`document.querySelectorAll('article.turn[data-state=completed]').length === 1`)
	b.sees("article.turn:last-of-type :is(td.number, .figure)", "24")
	b.is(`!document.querySelector('.asks')`)

	// The question is still there after a reload, and an answer in words is taken; one that
	// fits no option has it asked again.
	b.asks("assistant", whichSales)
	b.sees(".asks", "Which do you mean?")
	b.do(chromedp.Reload())
	b.sees(".asks", "Which do you mean?")
	b.answers("neither of the two")
	b.sees(".asks", "That is not one of the options.")
	b.answers("sales north")
	b.sees("article.turn:last-of-type .answer", "10")
	b.is(`document.querySelectorAll('article.turn[data-state=completed]').length === 2`)

	b.asks("nl2ql", whichSales)
	b.press("Never mind")
	b.sees("article.turn:last-of-type .progress", "Stopped.")
	b.asks("nl2ql", "How many sales north are there?")
	b.sees("article.turn:last-of-type :is(td.number, .figure)", "2")
}

// TestPageShowsLikelyAnswer marks an answer that is only likely. Another reading can be chosen, and
// the query can be saved once the user has confirmed it.
func TestPageShowsLikelyAnswer(t *testing.T) {
	onlyFull(t)
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.NewWorkshop()
	b := browse(t, p.URL)
	b.signIn(c.Token)
	b.sees(".namespace", "workshop")

	b.asks("nl2ql", e2etest.WhichDate)
	b.sees(".answer", "I read this as: number of work orders with opened in 2025. Is that right?")
	b.sees(".badge", "Likely")
	b.sees(".asks", "This answer is likely, not certain.")
	b.is(`!document.querySelector('[aria-label="Save as verified"]')`)
	b.press("number of work orders with done in 2025")
	b.sees("article.turn:last-of-type :is(td.number, .figure)", "3")
	b.is(`!document.querySelector('.asks') && document.querySelectorAll('.badge').length === 1`)
	b.is(`document.querySelectorAll('[aria-label="Save as verified"]').length === 1`)

	b.asks("assistant", e2etest.WhichDate)
	b.press("Yes, that is right")
	b.is(`!document.querySelector('.asks') && document.querySelectorAll('.badge').length === 1`)
	b.is(`document.querySelectorAll('[aria-label="Save as verified"]').length === 2`)
}

// answers writes an answer into the field for questions.
func (b *tab) answers(text string) {
	b.t.Helper()
	b.is(`document.querySelector('label[for=question]').textContent === 'Your answer'`)
	b.write("#question", text)
	b.press("Send the answer")
}

// whichSales is a question about the two datasets of newSales, of the north with a total
// of 10 and of the south with 24. The reader asks which one is meant, whatever the least confidence.
const whichSales = "What is the total amount of all sales?"

// newSales makes the user's namespace sales with two datasets of the same columns.
func newSales(c e2etest.Client) {
	c.T.Helper()
	for name, data := range map[string][]e2etest.Object{
		"sales_north": {{"sale_id": 1, "city": "Oslo", "amount": 4}, {"sale_id": 2, "city": "Oslo", "amount": 6}},
		"sales_south": {{"sale_id": 1, "city": "Rome", "amount": 7}, {"sale_id": 2, "city": "Bari", "amount": 8}, {"sale_id": 3, "city": "Rome", "amount": 9}},
	} {
		if status := c.Ask("POST", "/ingest/sales/"+name, e2etest.Object{"data": data}, nil); status != http.StatusOK {
			c.T.Fatalf("ingest: %d", status)
		}
	}
}
