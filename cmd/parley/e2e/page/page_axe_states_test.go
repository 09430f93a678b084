package page

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPageAccessibleStates has axe-core look at the views that people see now and then:
// before there is data, where something is refused, and dialogs.
func TestPageAccessibleStates(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	c.NewWorkshop()
	newSales(c)
	c.Ask("POST", "/ingest/new/empty/one", e2etest.Object{}, nil)
	c.Ask("DELETE", "/data/alice/empty/one", nil, nil)
	b.mayFail = true // tokens, filters and files that are refused
	looks := accessible(b)
	b.write("#token", "not.a.token")
	b.press("Sign in")
	b.sees("[role=alert]", "does not accept this token")
	looks("a token that is refused")
	b.signIn(c.Process.Token("bob"))
	b.sees("h1", "Begin with a file")
	looks("no data")
	b.do(chromedp.Navigate(c.URL + "/#token=" + c.Token))
	b.sees("dialog h2", "Sign in as alice?")
	looks("a link for another user")
	b.press("Sign in as alice")
	b.sees(".sidebar-user", "alice")

	b.do(chromedp.Navigate(c.URL + "/#/alice/workshop"))
	b.is(`document.querySelector('.topbar-place').textContent === 'alice/workshop'`)
	b.sees(".suggestions", "How many")
	b.asks("nl2ql", e2etest.WhichDate)
	b.sees(".asks", "This answer is likely")
	looks("a likely answer")
	b.do(chromedp.Navigate(c.URL + "/#/alice/sales"))
	b.is(`document.querySelector('.topbar-place').textContent === 'alice/sales'`)
	b.sees("main", "sales_north and sales_south")
	b.asks("nl2ql", whichSales)
	b.sees(".asks", "Which do you mean?")
	looks("a question back")
	b.press("Never mind")
	b.sees("article.turn", "Stopped.")
	looks("a question that was stopped")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop"))
	b.is(`document.querySelector('.topbar-place').textContent === 'alice/shop'`)
	b.sees(".suggestions", "orders")
	b.asks("assistant", "How many orders are there per city?")
	b.bars(3)
	b.press("Bad answer")
	b.sees(".feedback", "Thank you")
	looks("a comment")
	b.press("Show in full width")
	b.is(`document.querySelector('dialog .chart-frame svg')`)
	looks("a chart in full width")
	b.do(chromedp.KeyEvent(kb.Escape)) // the button moves while the chart is drawn again
	b.is(`!document.querySelector('dialog')`)
	b.press("Delete “How many orders are there per city?”")
	looks("a conversation to be deleted")
	b.closes()

	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
	b.sees(".rows-frame", "plum")
	b.selects("Column", "amount")
	b.selects("Comparison", "is at least")
	b.write(".filter input", "many")
	b.press("Filter")
	b.sees("[role=alert]", "many")
	looks("a filter that is refused")
	for _, dialog := range []string{"Download", "Rename", "Delete", "Add rows"} {
		b.press(dialog)
		looks(dialog)
		b.closes()
	}
	b.press("Share")
	b.sees(".shares", "Nobody else")
	b.write("#share-user", "bob")
	b.pressIn("//form", "Share")
	b.sees("dialog [role=alert]", "before")
	looks("a share with a new name")
	b.press("Share anyway")
	b.sees(".shares .share-name", "bob")
	looks("a share")
	b.closes()
	b.press("Add a file")
	b.choose(workbook(t, "book.xlsx", map[string][][]any{"Sheet1": {{"item"}, {"plum"}}, "May": {{"city"}, {"Oslo"}}}))
	b.is(`document.querySelectorAll('.import-table').length === 2`)
	looks("a workbook")
	b.closes()
	b.drop("broken.csv", "\xff\xfea\x00")
	b.is(`document.querySelector('.reading')?.open`)
	looks("a file that cannot be read")
	b.closes()
	b.do(chromedp.Navigate(c.URL + "/#/alice/empty/data"))
	b.press("Delete")
	looks("a namespace to be deleted")
	b.closes()
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/nothing"))
	b.sees(".empty", "There is no dataset nothing here")
	looks("no such dataset")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/shared/01a1e4ba-6e4f-75ed-ad98-c7e7f1f82ac4"))
	b.sees("[role=alert]", "There is no such answer")
	looks("no such answer")
	b.is(`(location.hash = '#/alice', true)`)
	b.sees("h1", "There is no such page")
	looks("no such page")
	b.press("alice/shop")
	b.sees(".suggestions", "orders")
	kill(c.Process)
	b.press("Data")
	b.press("orders")
	b.sees(".away", "cannot be reached")
	looks("a server that is lost")
}

// TestPageAccessibleMoments has axe-core look at what people see for a moment: where they
// sign in with an identity provider, files over the page and on their way, a failed run, and
// the menu of a phone.
func TestPageAccessibleMoments(t *testing.T) {
	onlyFull(t)
	model := e2etest.NewModel(t, e2etest.Queries("", "Adds up the prices.", "SELECT sum(price) AS total FROM orders"))
	c, b, _ := provided(t, nil, model.Env()...)
	looks := accessible(b)
	b.sees("button", "Sign in with your identity provider")
	looks("sign in with an identity provider")
	b.press("Sign in with your identity provider")
	b.sees("h1", "Begin with a file")
	carol := e2etest.Client{Process: c, Token: get[string](b, `sessionStorage.getItem('parley.token')`)}
	if status := carol.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "plum", "amount": 2}}}, nil); status != http.StatusOK {
		t.Fatal(status)
	}
	b.do(chromedp.Reload())
	b.sees(".suggestions", "orders")

	b.drag("dragover")
	b.sees(".drop-veil", "Drop files")
	looks("files over the page")
	b.drag("dragleave")
	b.is(`!document.querySelector('.drop-veil')`)
	b.is(`(XMLHttpRequest.prototype.send = () => {}, true)`) // the upload stays under way
	b.drop("prices.csv", prices)
	b.is(`document.querySelector('dialog progress')`)
	looks("an upload")
	b.closes()

	b.asks("nl2ql", "What is the sum of all prices?")
	b.sees("article.turn [role=alert]", "price")
	b.sees("article.turn pre", "sum(price)")
	looks("a failed run")
	b.do(chromedp.EmulateViewport(390, 900))
	b.press("Menu")
	b.is(`document.querySelector('.menu-open')`)
	looks("the menu of a phone")
}

// drag moves a file over the page, or away from it.
func (b *tab) drag(event string) {
	b.t.Helper()
	b.is(`(() => {
		const dataTransfer = new DataTransfer()
		dataTransfer.items.add(new File(['n'], 'n.csv'))
		return document.body.dispatchEvent(new DragEvent(` + e2etest.ToJSON(event) + `, {dataTransfer, bubbles: true, cancelable: true})) !== undefined
	})()`)
}
