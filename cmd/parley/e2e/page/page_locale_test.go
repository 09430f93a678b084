package page

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestPageLocale asks in a browser of a German reader: the answer, the table, the chart and
// the counts have the same separators.
func TestPageLocale(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	call(b, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: get[string](b, `navigator.userAgent`), AcceptLanguage: "de-DE"})
	b.do(chromedp.Reload())
	b.is(`navigator.language === 'de-DE'`)
	b.signIn(c.Token)
	b.asks("assistant", "What is the average amount of orders for each month?")
	b.sees(".answer", "from 1,50 in January 2025 to 1.234,50 in March 2025")
	b.bars(3)
	b.sees(".chart svg .role-axis-label", "1.000")
	b.pressIn(b.last("article.turn"), "Table")
	b.sees("td.number", "1.234,5")
}
