package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestPageRunsQueries changes the query of an answer and runs it, by the button and by
// keyboard.
func TestPageRunsQueries(t *testing.T) {
	onlyFull(t)
	c := shop(t)
	for _, width := range []int64{1440, 768, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			b := browse(t, c.URL)
			b.do(chromedp.EmulateViewport(width, 900))
			b.signIn(c.Token)
			b.asks("nl2ql", "How many orders are there per city?")
			b.press("Query")
			b.sees(".query .sql-keyword", "SELECT")
			b.is(`document.querySelector('.query textarea').value.split('\n').length > 2`)
			b.press("Run")
			b.is(`document.querySelector('.result .result .chart svg')`)

			b.write(".query textarea", "SELECT city, amount FROM orders WHERE city = 'Oslo'")
			call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: "Enter", WindowsVirtualKeyCode: 13, Modifiers: 2})
			b.sees(".result .result .figure", "Oslo")
			b.sees(".result .result .result-count", "1 row")
			b.sees(".query .sql-text", "'Oslo'")
			if get[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
				t.Error("the page is wider than the window")
			}
			b.mayFail = true // 422
			b.write(".query textarea", "SELECT * FROM elsewhere")
			b.press("Run")
			b.sees(".result [role=alert]", "elsewhere")
			b.is(`!document.querySelector('.result .result')`)
			b.press("Reset")
			b.is(`document.querySelector('.query textarea').value.includes('orders')`)
		})
	}
}
