package page

import (
	"testing"

	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/e2etest"
)

// TestPageIsAskedBack answers what an agent asks: by a button, in words, after a reload, and
// not at all.
func TestPageIsAskedBack(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.NewWorkshop()
	b := browse(t, p.URL)
	b.signIn(c.Token)
	b.sees(".namespace", "workshop")

	b.asks("nl2ql", e2etest.WhichDate)
	b.sees(".asks", "Which do you mean?")
	b.is(`document.querySelectorAll('.options button').length === 2`)
	b.press("number of work orders, only those with done in 2025")
	b.is(`document.querySelectorAll('article.turn[data-state=completed]').length === 1`)
	b.sees("article.turn:last-of-type td.number", "3")
	b.is(`!document.querySelector('.asks')`)

	// The question is still there after a reload, and an answer in words is taken; one that
	// fits no option has it asked again.
	b.asks("assistant", e2etest.WhichDate)
	b.sees(".asks", "Which do you mean?")
	b.do(chromedp.Reload())
	b.sees(".asks", "Which do you mean?")
	b.answers("neither of the two")
	b.sees(".asks", "That is not one of the options.")
	b.answers("opened in 2025")
	b.sees("article.turn:last-of-type .answer", "2")
	b.is(`document.querySelectorAll('article.turn[data-state=completed]').length === 2`)

	b.asks("nl2ql", e2etest.WhichDate)
	b.press("Never mind")
	b.sees("article.turn:last-of-type .progress", "Stopped.")
	b.asks("nl2ql", "How many work orders are there?")
	b.sees("article.turn:last-of-type td.number", "4")
}

// answers writes an answer into the field for questions.
func (b *tab) answers(text string) {
	b.t.Helper()
	b.is(`document.querySelector('label[for=question]').textContent === 'Your answer'`)
	b.write("#question", text)
	b.press("Answer")
}
