package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPageKeepsConversations searches among conversations, renames one and exports it.
func TestPageKeepsConversations(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "a|b", "city": "*Bonn*", "amount": 7, "day": nil}}}, nil)
	for _, city := range []string{"Berlin", "Paris", "Oslo", "Rome", "Bonn"} {
		question := e2etest.Object{"username": "self", "namespace": "shop", "query": "How many orders are there in " + city + "?", "agent": "nl2ql"}
		c.Ask("POST", "/query/autorag", question, nil)
	}
	b.signIn(c.Token)
	b.asks("nl2ql", "What is the total amount for each city?")
	b.is(`document.querySelectorAll('.conversations li').length === 6`)
	b.sees(".conversations h3", "Today")
	b.write(".conversations input", "ORDERS paris")
	b.is(`document.querySelectorAll('.conversations li').length === 1`)
	b.sees(".conversations li", "How many orders are there in Paris?")
	b.write(".conversations input", "nothing like it")
	b.sees(".conversations [role=status]", "No title has these words.")
	b.write(".conversations input", " ")

	b.press("Rename “What is the total amount for each city?”")
	b.is(`document.activeElement.id === 'conversation-title'`)
	b.write("#conversation-title", "  ")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('#conversation-title:invalid')`)
	b.write("#conversation-title", "Cities | by amount")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`!document.querySelector('dialog')`)
	b.sees(".conversations a[aria-current]", "Cities | by amount")
	b.do(chromedp.Reload())
	b.sees(".conversations a[aria-current]", "Cities | by amount")
	b.is(`document.querySelector('article.turn[data-state=completed]')`)

	dir := b.downloads()
	b.press("Export as Markdown")
	text := downloaded(t, dir, "Cities_by_amount.md")
	for _, want := range []string{
		"# Cities \\| by amount\n\n## What is the total amount for each city?\n", "\n| city | total\\_amount |\n| --- | ---: |\n| Oslo | 1234.5 |\n", "\n| \\*Bonn\\* | 7 |\n",
		"\n```sql\nSELECT ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestPageShortcuts uses the keys that work anywhere.
func TestPageShortcuts(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.is(`document.activeElement.id === 'question'`)
	key := func(key string) {
		t.Helper()
		b.do(chromedp.KeyEvent(key))
	}
	holds := func(text string) {
		t.Helper()
		b.is(fmt.Sprintf(`document.querySelector('#question').value === %s`, e2etest.ToJSON(text)))
	}
	key(kb.ArrowUp)
	holds("")
	first, second := "How many orders are there?", "How many orders are there in Berlin?"
	b.asks("nl2ql", first)
	b.asks("nl2ql", second)
	b.do(chromedp.Focus(chromedp.CSS("#question")))
	key(kb.ArrowUp)
	holds(second)
	key(kb.ArrowUp)
	holds(first)
	key(kb.ArrowUp)
	holds(first)
	key(kb.ArrowDown)
	holds(second)
	key("?/") // are text in a field
	holds(second + "?/")
	key(kb.ArrowUp)
	holds(second + "?/")
	b.write("#question", " ")

	b.press("Data")
	b.sees(".dataset", "4 rows")
	key("?")
	b.sees("dialog h2", "Keyboard shortcuts")
	b.sees("dialog", "recall the last question")
	key("/")
	b.is(`document.querySelector('dialog[open]')?.contains(document.activeElement)`)
	key(kb.Escape)
	b.is(`!document.querySelector('dialog')`)
	key("/")
	b.is(`document.activeElement.id === 'question'`)
	b.write("#question", "x")
	key("\b")
	key(kb.ArrowUp) // in a new conversation, what was asked before
	holds(second)
	b.do(chromedp.Blur(chromedp.CSS("#question")))
	// As one event, which the page can keep from the field: KeyEvent sends the character by itself.
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kb.KeyDown, Key: "/", Text: "/"})
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kb.KeyUp, Key: "/"})
	b.is(`document.activeElement.id === 'question'`)
	holds(second)
	b.press("Keyboard shortcuts")
	b.closes()
}

// TestPageModels chooses among models, and says which one has answered; without one, rules do.
func TestPageModels(t *testing.T) {
	onlyFull(t)
	standin := e2etest.NewProvider(t, "ollama", nil)
	standin.Does(func(w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
		says := map[string]string{
			e2etest.PlanJob: e2etest.Plans("", "", "Count the orders").Says, e2etest.QueryJob: e2etest.Queries("", "", "SELECT count(*) AS n FROM orders").Says,
			e2etest.AnswerJob: "So says " + q.Model + ".",
		}
		standin.Say(w, q, says[q.Job])
	})
	c, b := counter(t, append(standin.Address(), "PARLEY_LLM=ollama:first,ollama:second")...)
	b.signIn(c.Token)
	choose := func(name string) {
		t.Helper()
		b.is(fmt.Sprintf(`(() => {
			const choice = document.querySelector('select.model')
			choice.value = %s
			return choice.dispatchEvent(new Event('change', {bubbles: true}))
		})()`, e2etest.ToJSON(name)))
	}
	b.is(`[...document.querySelectorAll('select.model option')].map((each) => each.textContent).join() === 'ollama:first,ollama:second,built-in reader'`)
	b.asks("assistant", "How many orders?")
	b.sees("article.turn:last-of-type .answer", "So says first.")
	choose("ollama:second")
	b.asks("assistant", "How many orders?")
	b.sees("article.turn:last-of-type .answer", "So says second.")
	b.sees("article.turn:last-of-type .agent", "ollama:second")
	b.do(chromedp.Reload())
	b.is(`document.querySelector('select.model')?.value === 'ollama:second'`)
	b.sees("article.turn:last-of-type .agent", "ollama:second")
	choose("reader")
	b.asks("nl2ql", "How many orders are there in Berlin?")
	b.sees("article.turn:last-of-type :is(td.number, .figure)", "2")
	if agent := get[string](b, `[...document.querySelectorAll('.agent')].at(-1).textContent`); agent != "Rows only" {
		t.Errorf("answered by %q", agent)
	}
}
