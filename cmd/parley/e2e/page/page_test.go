package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/auth"
)

// orders has alice's orders in three cities, on days of three months.
var orders = e2etest.Folder{Fill: func(p *e2etest.Process) {
	status := e2etest.Client{Process: p, Token: p.Token("alice")}.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{
		{"item": "apple", "city": "Berlin", "amount": 1.5, "day": "2025-01-03"},
		{"item": "pear", "city": "Paris", "amount": 2, "day": "2025-02-04"},
		{"item": "fig", "city": "Berlin", "amount": 3, "day": "2025-02-05"},
		{"item": "plum", "city": "Oslo", "amount": 1234.5, "day": "2025-03-05"},
	}}, nil)
	if status != http.StatusOK {
		p.T.Fatalf("ingest: %d", status)
	}
}}

// shop starts a server with orders.
func shop(t *testing.T, env ...string) e2etest.Client {
	t.Helper()
	p := e2etest.Serve(t, orders.Copy(t), env)
	return e2etest.Client{Process: p, Token: p.Token("alice")}
}

// counter starts a shop and gives the page of it.
func counter(t *testing.T, env ...string) (e2etest.Client, *tab) {
	t.Helper()
	c := shop(t, env...)
	return c, browse(t, c.URL)
}

// TestPageAsks signs in, asks both agents, rates an answer and finds it again.
func TestPageAsks(t *testing.T) {
	t.Parallel()
	c, b := counter(t)
	b.sees("h1", "Ask about your data")
	b.signIn(c.Token)
	b.sees(".sidebar-user", "alice")
	b.sees(".namespace", "shop")
	b.sees(".suggestions", "How many orders are there?")

	b.asks("assistant", "How many orders are there per city?")
	b.sees(".answer", "has the highest number of orders")
	b.sees(".answer", "Berlin")
	b.sees(".composer", "Answered by the built-in reader")
	b.is(`document.title === "How many orders are there per city? · Parley" && !document.querySelector(".reference")`)
	b.sees(".feedback .agent", "built-in reader")
	b.bars(3)
	b.sees(".chart svg", "Berlin")
	b.inOrder(".answer", ".chart", ".reasoning", ".query-part")

	b.asks("nl2ql", "average amount of orders by month")
	b.is(`document.querySelectorAll('article.turn:last-of-type .chart .mark-rect.role-mark path').length === 3`)
	last := b.last("article.turn")
	b.pressIn(last, "Table")
	b.sees("table td.number", "1,234.5")
	b.pressIn(last, "Query")
	b.sees(".query", "SELECT")

	b.pressIn(last, "Bad answer")
	b.sees(".feedback", "Thank you")
	b.write(".feedback form input", "not by month")
	b.pressIn(last, "Send")
	b.sees(".feedback", "Rated: “not by month”")

	where := get[string](b, "location.hash")
	if !strings.HasPrefix(where, "#/alice/shop/") {
		t.Errorf("the address says %q", where)
	}
	b.do(chromedp.Reload())
	b.is(`document.querySelectorAll('article.turn[data-state=completed]').length === 2`)
	b.sees(".question", "How many orders are there per city?")
	b.sees(".answer", "has the highest number of orders")
	b.sees(".feedback", "Rated: “not by month”")
	b.bars(6)
	if got := get[string](b, "location.hash"); got != where {
		t.Errorf("after a reload the address says %q, not %q", got, where)
	}

	// It goes on in the same conversation, and from another one back to it.
	b.asks("nl2ql", "How many orders are there in Berlin?")
	b.sees("article.turn:last-of-type :is(td.number, .figure)", "2")
	b.press("New question")
	b.sees("h1", "Ask about your data")
	b.is(`document.querySelectorAll('.conversations li').length === 1`)
	b.press("How many orders are there per city?")
	b.is(`document.querySelectorAll('article.turn').length === 3`)

	b.press("Delete “How many orders are there per city?”")
	b.press("Delete")
	b.sees("h1", "Ask about your data")
	b.is(`document.querySelectorAll('.conversations li').length === 0`)
	b.press("Sign out")
	b.sees("h1", "Ask about your data")
	if got := get[string](b, `JSON.stringify(sessionStorage)`); strings.Contains(got, c.Token) {
		t.Errorf("the token stays: %s", got)
	}
}

// inOrder sees that the last turn shows one thing of each kind, each below the one before.
func (b *tab) inOrder(kinds ...string) {
	b.t.Helper()
	b.is(fmt.Sprintf(`(() => {
		const turn = [...document.querySelectorAll('article.turn')].at(-1)
		const boxes = %s.map((kind) => turn.querySelector(kind)?.getBoundingClientRect())
		return boxes.every((box, i) => box?.height > 0 && (i === 0 || boxes[i - 1].bottom <= box.top))
	})()`, e2etest.ToJSON(kinds)))
}

// TestPageDownloads looks at what the files hold that the page gives.
func TestPageDownloads(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "=1+1", "city": "-", "amount": -5, "day": nil}}}, nil)
	b.signIn(c.Token)
	b.asks("nl2ql", "What is the average amount for each item?")
	dir := b.downloads()
	b.press("Download the rows")
	rows := downloaded(t, dir, "What_is_the_average_amount_for_each_item.csv")
	if !strings.Contains(rows, "\r\n'=1+1,-5\r\n") || !strings.HasPrefix(rows, "item,average_amount\r\n") {
		t.Errorf("the rows are %q", rows)
	}
	b.press("Query")
	b.press("Copy the query")
	b.is(`document.querySelector('[aria-label=Copied]')`)
	b.press("Download the query")
	if query := downloaded(t, dir, "What_is_the_average_amount_for_each_item.sql"); !strings.HasPrefix(query, "SELECT ") {
		t.Errorf("the query is %q", query)
	}
}

// downloads returns the folder into which the browser puts files.
func (b *tab) downloads() string {
	b.t.Helper()
	dir := b.t.TempDir()
	_, err := chromedp.CallBrowser(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID, DownloadPath: dir,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return dir
}

// downloaded waits for a file to be there, whole.
func downloaded(t *testing.T, dir, name string) string {
	t.Helper()
	var content []byte
	e2etest.Eventually(t, func() bool {
		var err error
		content, err = os.ReadFile(filepath.Join(dir, name))
		return err == nil && len(content) > 0
	})
	return string(content)
}

// TestPageRefusesToken tells who comes with a wrong token what to do.
func TestPageRefusesToken(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.mayFail = true
	b.write("#token", "not.a.token")
	b.press("Sign in")
	b.sees("[role=alert]", "does not accept this token")
	b.is(`document.querySelector('#token') && !sessionStorage.getItem('parley.token')`)

	// A token that is refused later leads back to where one signs in.
	b.signIn(c.Token)
	b.is(fmt.Sprintf(`(sessionStorage.setItem('parley.token', %s), true)`, e2etest.ToJSON(expired(c.Process, "alice"))))
	b.do(chromedp.Reload())
	b.sees("[role=alert]", "has expired")
}

// expired returns a token of this server that held until an hour ago.
func expired(p *e2etest.Process, user string) string {
	p.T.Helper()
	key, err := auth.LoadLocalKey(filepath.Join(p.Dir, "parley-data"))
	if err != nil {
		p.T.Fatal(err)
	}
	before := func() time.Time { return time.Now().Add(-2 * time.Hour) }
	token, err := auth.Sign(auth.Config{LocalKey: key, Now: before}, user, time.Hour)
	if err != nil {
		p.T.Fatal(err)
	}
	return token
}

// TestPageSignsInByLink signs in by a link in the page that is open, at once, and
// asks before it makes somebody of another.
func TestPageSignsInByLink(t *testing.T) {
	t.Parallel()
	c, b := counter(t)
	opens := func(token string) {
		t.Helper()
		b.do(chromedp.Navigate(c.URL + "/#token=" + token))
		b.is(`!location.href.includes('token')`)
	}
	opens(c.Token)
	b.sees(".sidebar-user", "alice")
	b.sees(".suggestions", "How many orders are there?")
	where := get[string](b, "location.hash")

	bob := c.Process.Token("bob")
	opens(bob)
	b.sees("dialog h2", "Sign in as bob?")
	b.press("Stay alice")
	b.is(`!document.querySelector('dialog')`)
	b.sees(".sidebar-user", "alice")
	if got := get[string](b, "location.hash"); got != where {
		t.Errorf("one is at %q, not %q", got, where)
	}
	b.do(chromedp.Navigate(c.URL + "/#error=x"))
	b.is(`!location.href.includes('error')`)
	b.sees(".sidebar-user", "alice")
	opens(bob)
	b.press("Sign in as bob")
	b.sees(".sidebar-user", "bob")
	b.sees("h1", "Begin with a file")
	b.mayFail = true // back there is what alice alone may see
	b.do(chromedp.NavigateBack())
	b.is(`!location.href.includes('token')`)
}

// attack is what somebody writes who wants a script to run.
const attack = `<img src=x onerror="window.hacked=1"> <script>window.hacked=2</script> [x](javascript:window.hacked=3) ![y](https://evil.example/p.png)`

// TestPageShowsTextAsText has the same attack in rows, descriptions, a question,
// a plan and an answer.
func TestPageShowsTextAsText(t *testing.T) {
	onlyFull(t)
	model := e2etest.NewModel(t,
		e2etest.Plans("", attack, attack, attack),
		e2etest.Queries("", attack, "SELECT left(note, 40) AS note, count(*) AS n FROM notes GROUP BY 1"),
		e2etest.Answers("", "# "+attack+"\n\n- "+attack+"\n\n| a | b |\n| - | - |\n| <img src=x onerror=window.hacked=4> | `<b>` |\n\n<details open ontoggle=window.hacked=5>\n\n&lt;svg onload=window.hacked=6&gt;"),
	)
	p := e2etest.Serve(t, t.TempDir(), model.Env())
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Ask("POST", "/ingest/shop/notes", e2etest.Object{"data": []e2etest.Object{{"note": attack}, {"note": attack}, {"note": `"><svg onload=window.hacked=7>`}}, "dataDescription": attack,
		"schemaDefinition": e2etest.Object{"note": attack}}, nil)
	b := browse(t, p.URL+"/#/alice/shop")
	b.signIn(c.Token)
	b.asks("assistant", attack)
	b.sees(".chart svg", `<img src=x`)
	b.pressIn(b.last("details.step"), "Table")
	b.sees("td", `<img src=x onerror="window.hacked=1">`)
	b.sees(".answer h3", `< img src=x onerror="window.hacked=1">`)
	b.sees(".answer td", `< img src=x onerror=window.hacked=4>`)
	b.sees(".answer", `< svg onload=window.hacked=6>`)
	b.asks("nl2ql", attack)
	b.sees(".conversations", `<img src=x`)
	b.press("Data")
	b.sees(".dataset", `<script>window.hacked=2</script>`)
	b.press("New question")
	b.press("Data")
	const harm = `window.hacked !== undefined || [...document.querySelectorAll('#page img, #page script, a[href^="javascript"]')].length > 0`
	if get[bool](b, harm) {
		t.Error("a text was taken for HTML")
	}
	b.do(chromedp.NavigateBack(), chromedp.NavigateBack(), chromedp.NavigateBack())
	b.is(`document.querySelectorAll('article.turn').length === 2`)
	if get[bool](b, harm) {
		t.Error("a text was taken for HTML")
	}
}

// TestPageOutlivesAnswers has answers that nest without end, and that take a reader
// of Markdown hours, between others, and a turn that cannot be drawn.
func TestPageOutlivesAnswers(t *testing.T) {
	onlyFull(t)
	// What was asked before is in the prompts too, so the latest question comes first.
	model := e2etest.NewModel(t, e2etest.Plans("", "", "Count them"), e2etest.Queries("", "", "SELECT 1234 AS n"), e2etest.Answers("Fine?", "It is **so**."),
		e2etest.Answers("Slow?", strings.Repeat("_", 60_000)+"slow"), e2etest.Answers("Deep?", strings.Repeat("> ", 5000)+"deep"))
	c, b := counter(t, model.Env()...)
	b.signIn(c.Token)
	for _, question := range []string{"Deep?", "Slow?", "Fine?"} {
		b.asks("assistant", question)
	}
	seen := func() {
		t.Helper()
		b.sees(".answer .plain", "> deep")
		b.sees(".answer .plain", "_slow")
		b.sees(".answer strong", "so")
	}
	seen()
	b.do(chromedp.Reload())
	seen()

	b.is(`Object.defineProperty(Intl.NumberFormat.prototype, 'format', { get() { throw new Error('no') } })`)
	b.asks("assistant", "Fine?")
	b.sees("article.turn:last-of-type [role=alert]", "cannot show all")
	b.sees("article.turn:last-of-type .answer", "It is **so**.")
	b.sees(".answer .plain", "> deep")
	b.sees(".answer .plain", "_slow")
}

// TestPageByKeyboard does everything without a mouse, on a phone's width.
func TestPageByKeyboard(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(360, 740))
	b.is(`document.activeElement.id === 'token'`)
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	b.do(chromedp.KeyEvent(c.Token + "\r"))
	b.is(`document.activeElement.id === 'question'`)
	b.do(chromedp.KeyEvent("How many orders"), chromedp.KeyEvent("\r", chromedp.KeyModifiers(kb.ModifierShift)), chromedp.KeyEvent("are there per city?"))
	if got := get[string](b, `document.querySelector('#question').value`); got != "How many orders\nare there per city?" {
		t.Errorf("shift and enter gave %q", got)
	}
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('article.turn[data-state=completed]')`)
	b.fits("a conversation")

	b.tabTo("Skip the menu")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.activeElement.matches('main')`)
	b.is(`document.querySelector('main h1').textContent.endsWith('shop')`)
	b.tabTo("Table")
	b.do(chromedp.KeyEvent(" "))
	b.sees("td", "Berlin")
	b.tabTo("Good answer")
	b.do(chromedp.KeyEvent("\r"))
	b.sees(".feedback", "Thank you")
	b.tabTo("Menu")
	b.do(chromedp.KeyEvent("\r"))
	b.tabTo("Data")
	b.do(chromedp.KeyEvent("\r"))
	b.sees(".dataset", "4 rows")
	b.fits("the datasets")
	b.tabTo("Describe orders")
	b.do(chromedp.KeyEvent("\r"))
	b.is(`document.querySelector('dialog[open]')?.contains(document.activeElement)`)
	b.fits("a dialog")
	b.do(chromedp.KeyEvent(kb.Escape))
	b.is(`!document.querySelector('dialog')`)
	b.is(`document.activeElement.getAttribute('aria-label') === 'Describe orders'`)
}

// fits sees that nothing is wider than the page, and that the page does not scroll as a whole.
func (b *tab) fits(what string) {
	b.t.Helper()
	if wide := get[int](b, `Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('main, dialog')].map((e) => e.scrollWidth - e.clientWidth + innerWidth)) - innerWidth`); wide > 0 {
		b.t.Errorf("%s is %d pixels too wide", what, wide)
	}
	if high := get[int](b, `document.querySelector('.console') ? document.documentElement.scrollHeight - innerHeight : 0`); high > 0 {
		b.t.Errorf("%s is %d pixels too high", what, high)
	}
}

// tabTo presses Tab until what has a name has the focus, and shows that it has.
func (b *tab) tabTo(words string) {
	b.t.Helper()
	const name = `(document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent).trim()`
	for deadline := time.Now().Add(waittest.Limit); time.Now().Before(deadline); { // it may still have to come
		if get[string](b, name) == words {
			b.is(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`)
			return
		}
		b.do(chromedp.KeyEvent("\t"))
	}
	b.t.Fatalf("Tab does not lead to %q", words)
}

// TestPageOfServerByAnotherName stays with the address that it came from, where
// the server gives out another one.
func TestPageOfServerByAnotherName(t *testing.T) {
	onlyFull(t)
	c, b := counter(t, "PARLEY_BASE_URL=https://parley.example/api/v1")
	b.signIn(c.Token)
	b.asks("assistant", "How many orders are there per city?")
	b.sees(".answer", "has the highest number of orders")
	b.press("Add a file")
	b.choose(fileOf(t, "pets.csv", "name\nRex\n"))
	b.imports()
	b.sees("dialog", "shop/pets: 1 row")
}
