package page

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPageVerified saves a query as verified and asks its question again. A viewer sees the
// badge and no controls.
func TestPageVerified(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.asks("nl2ql", "How many orders are there per city?")
	if b.count(".badge") != 0 {
		t.Error("nothing is verified yet")
	}
	b.press("Query")
	b.write(".query textarea", "SELECT 'Atlantis' AS city, 99 AS orders")
	if b.count(`[aria-label="Save as verified"]`) != 1 {
		t.Error("a query that has not run can be saved")
	}
	b.press("Run")
	b.sees(".result .result", "Atlantis")
	b.pressIn(`//*[contains(concat(" ", @class, " "), " result ")]//*[contains(concat(" ", @class, " "), " result ")]`, "Save as verified")
	b.is(`document.querySelector('.result .result [aria-label="Remove from verified"][aria-pressed=true]')`)
	b.is(`document.querySelectorAll('[aria-label="Remove from verified"]').length === 1`)
	for _, agent := range []string{"nl2ql", "assistant"} {
		b.asks(agent, "how many orders are there  per city")
		b.sees("article.turn:last-of-type .badge", "Verified")
		b.sees("article.turn:last-of-type .result", "Atlantis")
	}

	grant := e2etest.Object{"username": "bob", "role": "viewer"}
	if status := c.Ask("POST", "/permissions/namespaces/alice/shop/shares", grant, nil); status != http.StatusOK {
		t.Fatal(status)
	}
	bob := browse(t, c.URL)
	bob.signIn(c.Process.Token("bob"))
	bob.asks("nl2ql", "HOW MANY orders are there per city?!")
	bob.sees(".badge", "Verified")
	bob.sees(".result", "Atlantis")
	bob.press("Query")
	bob.sees(".query", "Atlantis")
	if bob.count(`[aria-label="Remove from verified"], [aria-label="Save as verified"], [aria-label="Pin to the board"]`) != 0 {
		t.Error("a viewer sees what an editor may do")
	}

	var restricted struct{ Token string }
	scope := e2etest.Object{"username": "self", "namespace": "shop"}
	c.Ask("POST", "/user/token", e2etest.Object{"name": "page", "accessRestrictedTo": []e2etest.Object{scope}}, &restricted)
	reader := browse(t, c.URL)
	reader.signIn(restricted.Token)
	reader.sees(".sidebar-user", "alice (read-only)")
	reader.asks("nl2ql", "How many orders are there per city?")
	reader.sees(".badge", "Verified")
	reader.sees(".conversations", "How many orders")
	offers := func(shown string) {
		t.Helper()
		reader.is(`document.querySelector('` + shown + `')`)
		offered := get[string](reader, `[...document.querySelectorAll('button')].map((e) => e.title || e.textContent).join(', ')`)
		for _, refused := range []string{"Add", "Share", "Rename", "Describe", "Delete", "Save as", "Pin to"} {
			if strings.Contains(offered, refused) {
				t.Errorf("a read-only token is offered %s: %s", refused, offered)
			}
		}
	}
	offers("article.turn")
	reader.press("Data")
	offers(".dataset .columns")
	reader.press("orders")
	offers(".rows-frame td")

	b.pressIn(b.last("article.turn"), "Remove from verified")
	b.is(`!document.querySelector('[aria-label="Remove from verified"]')`)
	b.asks("nl2ql", "How many orders are there per city?")
	b.is(`!document.querySelector('article.turn:last-of-type .badge')`)
	b.do(chromedp.EmulateViewport(1200, 250))
	b.is(`(document.querySelector('main').scrollTop = 400) && document.querySelector('main').scrollTop === 400`)
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data"))
	b.is(`document.querySelector('.dataset .columns') && document.querySelector('main').scrollTop === 0`)
}

// TestPageSavesMeanwhile pins a result while it is being saved as verified.
func TestPageSavesMeanwhile(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.asks("nl2ql", "How many orders are there per city?")
	b.is(`(() => {
		const real = window.fetch
		const held = new Promise((resolve) => (window.letGo = resolve))
		window.fetch = async (address, init) => {
			if (init?.method === 'POST' && String(address).includes('/verified/')) await held
			return real(address, init)
		}
		return true
	})()`)
	b.press("Save as verified")
	b.press("Pin to the board")
	b.is(`document.querySelector('[aria-label="Remove from the board"]') && !document.querySelector('[aria-label="Remove from verified"]')`)
	b.is(`(letGo(), true)`)
	b.is(`document.querySelector('[aria-label="Remove from verified"]')`)
}

// TestPageBoard pins results, by keyboard too, and sees them with the rows of now.
func TestPageBoard(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.press("Board")
	b.sees(".empty", "pin its result to the board")
	b.press("New question")
	b.asks("nl2ql", "How many orders are there per city?")
	b.is(`document.querySelector('[aria-label="Pin to the board"]').focus() === undefined`)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", WindowsVirtualKeyCode: 13, Text: "\r"})
	b.is(`document.querySelector('[aria-label="Remove from the board"][aria-pressed=true]')`)
	b.asks("nl2ql", "How many orders are there in Berlin?")
	b.pressIn(b.last("article.turn"), "Pin to the board")
	b.is(`document.querySelectorAll('[aria-label="Remove from the board"]').length === 2`)

	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "lime", "city": "Rome", "amount": 1, "day": "2025-01-01"}}}, nil)
	c.Ask("POST", "/boards/alice/shop", e2etest.Object{"title": "All of it", "question": "What is there?", "query": "SELECT item FROM orders"}, nil)
	b.press("Board")
	b.sees(".pins .card", "Berlin")
	b.do(chromedp.Reload())
	b.is(`document.querySelectorAll('.pins .card').length === 3`)
	b.bars(4)
	b.sees(".pins .card :is(td.number, .figure)", "2")
	b.sees(".pins .card:last-child h2", "All of it")
	b.sees(".pins .card:last-child td", "lime")
	for _, width := range []int64{1440, 768, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.is(`document.documentElement.scrollWidth <= innerWidth`)
	}
	b.do(chromedp.EmulateViewport(1200, 850))

	// Its title, width and place are changed, and it is asked again when data comes in.
	b.press("Change “All of it”")
	b.is(`(() => { const title = document.querySelector('dialog input'); title.value = 'Each item'; title.dispatchEvent(new Event('input', { bubbles: true })); return true })()`)
	b.press("Move forward")
	b.is(`document.querySelectorAll('.pins .card')[1].querySelector('h2').textContent === 'All of it'`)
	b.is(`document.querySelector('dialog input[type=checkbox]').click() === undefined`)
	b.is(`(() => { const when = document.querySelector('dialog select'); when.value = 'change'; when.dispatchEvent(new Event('change', { bubbles: true })); return true })()`)
	b.sees("dialog", "Webhook")
	b.press("Save")
	b.is(`!document.querySelector('dialog') && document.querySelectorAll('.pins .card')[1].matches('.wide')`)
	b.sees(".pins .card.wide h2", "Each item")
	e2etest.Eventually(t, func() bool {
		_, board := c.Call(c.Token, "GET", "/api/v1/boards/alice/shop", "")
		return strings.Contains(board, `"askedAt"`)
	})
	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "fig", "city": "Rome", "amount": 1, "day": "2025-01-01"}}}, nil)
	b.sees(".pins .card.wide .change", "1 row new")
	b.sees(".pins .card.wide", "fig")
	// Of a day before all rows there are none.
	b.is(`(() => { const to = document.querySelectorAll('.period input')[1]; to.value = '1999-12-31'; to.dispatchEvent(new Event('change', { bubbles: true })); return true })()`)
	b.sees(".pins .card.wide", "by day of orders")
	b.is(`!document.querySelector('.pins .card.wide td')`)
	b.press("All days")
	b.sees(".pins .card.wide", "fig")

	if status := c.Ask("DELETE", "/data/alice/shop/orders", nil, nil); status != http.StatusNoContent {
		t.Fatal(status)
	}
	b.mayFail = true // 422
	b.press("Run all again")
	b.sees(".pins [role=alert]", "orders")
	b.press("Change “Each item”")
	b.press("Remove from the board")
	b.is(`document.querySelectorAll('.pins .card').length === 2`)
}

// TestPageSharesAnswers makes a link to an answer. Who may read the data opens it, and others do
// not.
func TestPageSharesAnswers(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	c.Ask("POST", "/permissions/datasets/alice/shop/orders/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil)
	c.Ask("POST", "/ingest/shop/wages", e2etest.Object{"data": []e2etest.Object{{"n": 1}}}, nil)
	b.signIn(c.Token)
	b.asks("assistant", "How many orders are there per city?")
	b.press("Share this answer")
	b.sees("dialog footer", "Make a link")
	if b.count("dialog footer button") != 1 {
		t.Error("sharing can be stopped before there is a link")
	}
	b.press("Make a link")
	b.sees("dialog [role=status]", "The link is made")
	b.closes()
	b.press("Share this answer")
	b.sees("dialog footer", "Stop sharing")
	link := get[string](b, `document.querySelector('dialog input').value`)
	b.press("Copy")
	b.sees("dialog [role=status]", "copied")

	bob := browse(t, link)
	bob.do(chromedp.EmulateViewport(390, 900))
	bob.signIn(c.Process.Token("bob"))
	bob.sees(".shared .hint", "alice asked this in alice/shop")
	bob.sees(".shared .question", "How many orders are there per city?")
	bob.sees(".shared .answer", "Berlin")
	bob.bars(3)
	bob.inOrder(".answer", ".chart", ".reasoning", ".query-part")
	bob.is(`document.documentElement.scrollWidth <= innerWidth`)
	carol := browse(t, link)
	carol.mayFail = true // 404
	carol.signIn(c.Process.Token("carol"))
	carol.sees("main [role=alert]", "you may not read the data")

	b.press("Stop sharing")
	b.sees("dialog [role=status]", "The link no longer works")
	b.closes()
	b.asks("assistant", "only in Berlin")
	if got := b.count(`[aria-label="Share this answer"]`); got != 1 {
		t.Errorf("%d answers can be shared, want the first one", got)
	}
	b.press("New question")
	b.asks("assistant", "Will it rain tomorrow?")
	b.is(`document.querySelector('[aria-label="Good answer"]') && !document.querySelector('[aria-label="Share this answer"]')`)
	bob.mayFail = true // 404
	bob.do(chromedp.Reload())
	bob.sees("main [role=alert]", "There is no such answer")
}

// TestPageReceipt shows how an answer was found, and runs its query again before and after its
// dataset has another version.
func TestPageReceipt(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.asks("nl2ql", "How many orders are there per city?")
	b.press("How do we know?")
	b.sees("dialog", "alice asked “How many orders are there per city?”")
	b.sees("dialog .query", "SELECT")
	b.sees("dialog .facts dt", "alice/shop/orders")
	b.sees("dialog .facts dd", "version")
	b.press("Run it again")
	b.sees("dialog [role=status]", "The same: all queries give the same rows now.")
	const more = "item,city,price\nplum,Oslo,5\n"
	c.Ingest("shop/orders", c.Upload("more.csv", int64(len(more)), strings.NewReader(more)))
	c.Settled("shop/orders")
	b.press("Run it again")
	b.sees("dialog [role=status]", "Not the same. The data has changed since: alice/shop/orders.")
}
