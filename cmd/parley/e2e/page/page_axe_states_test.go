package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/e2etest"
)

// TestPageAccessibleStates has axe-core look at the views that people see now and then:
// before there is data, where something is refused, and dialogs.
func TestPageAccessibleStates(t *testing.T) {
	t.Parallel()
	c, b := counter(t)
	c.NewWorkshop()
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
	b.sees(".suggestions", "How many")
	b.asks("nl2ql", e2etest.WhichDate)
	b.sees(".asks", "Which do you mean?")
	looks("a question back")
	b.press("Never mind")
	b.sees("article.turn", "Stopped.")
	looks("a question that was stopped")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop"))
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
	for _, dialog := range []string{"Rename", "Delete", "Add rows"} {
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
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/nothing"))
	b.sees(".empty", "There is no dataset nothing here")
	looks("no such dataset")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/shared/01a1e4ba-6e4f-75ed-ad98-c7e7f1f82ac4"))
	b.sees("[role=alert]", "There is no such answer")
	looks("no such answer")
	kill(c.Process)
	b.press("Data")
	b.press("orders")
	b.sees(".away", "cannot be reached")
	looks("a server that is lost")
}
