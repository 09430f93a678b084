package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// bars waits until the charts have a number of bars.
func (b *tab) bars(count int) {
	b.t.Helper()
	b.is(fmt.Sprintf(`document.querySelectorAll('.chart .mark-rect.role-mark path').length === %d`, count))
}

// TestPageCharts looks at the chart of a question, changes it and downloads it. The browser
// reports what the policy of the page refuses, which fails the test.
func TestPageCharts(t *testing.T) {
	onlyFull(t)
	c := shop(t)
	for name, width := range map[string]int64{"wide": 1440, "tablet": 768, "narrow": 390} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := browse(t, c.URL)
			b.do(chromedp.EmulateViewport(width, 900))
			b.signIn(c.Token)
			b.asks("nl2ql", "What is the average amount of orders for each month?")
			b.bars(3)
			for _, look := range []struct{ scheme, background string }{{"light", "rgb(255, 255, 255)"}, {"dark", "rgb(35, 39, 47)"}} {
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: look.scheme}}})
				b.seesChart(look.background)
			}
			b.sees(".chart svg .role-axis-title", "Average amount")
			b.sees(".chart svg .role-axis-title", "Month")
			b.press("Line")
			b.is(`document.querySelectorAll('.chart .mark-line path').length === 1`)
			b.press("Bars")
			b.bars(3)
			b.exports("What_is_the_average_amount_of_orders_for_each_month")
			b.fullWidth()
			b.press("Table")
			b.sees("td.number", "1,234.5")
			b.click(`//th/button[normalize-space(.)="average_amount"]`)
			b.is(`document.querySelector('th[aria-sort=ascending] .sort') && [...document.querySelectorAll('tbody td.number')].at(-1).textContent.startsWith('1,234.5')`)
			b.is(`document.querySelectorAll('.result thead th').length === 2`) // drawing has not changed the rows
			b.is(`!document.querySelector('.chart')`)
			b.asks("nl2ql", "How many orders are there in Berlin?")
			b.is(`!document.querySelector('article.turn:last-of-type .chart') && document.querySelector('article.turn:last-of-type .figure')`)
		})
	}
}

// seesChart waits for a chart that is as wide as there is room, in the colors of the page.
func (b *tab) seesChart(background string) {
	b.t.Helper()
	b.is(`Math.abs(document.querySelector('.chart-frame svg').clientWidth - document.querySelector('.chart-frame').clientWidth) < 4`)
	b.is(fmt.Sprintf(`getComputedStyle(document.querySelector('.chart-frame svg')).backgroundColor === %q`, background))
	if get[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
		b.t.Error("the page is wider than the window")
	}
}

// exports downloads the chart in both formats.
func (b *tab) exports(name string) {
	b.t.Helper()
	dir := b.downloads()
	b.press("Download as PNG")
	if got := downloaded(b.t, dir, name+".png"); !strings.HasPrefix(got, "\x89PNG\r\n") {
		b.t.Errorf("the PNG file begins with %.20q", got)
	}
	b.press("Download as SVG")
	if got := downloaded(b.t, dir, name+".svg"); !strings.HasPrefix(got, "<svg") || !strings.Contains(got, "Average amount") {
		b.t.Errorf("the SVG file begins with %.200q", got)
	}
}

// fullWidth opens the chart in a dialog that is as wide as the window.
func (b *tab) fullWidth() {
	b.t.Helper()
	b.press("Show in full width")
	b.is(`document.querySelector('dialog .chart-frame svg')?.clientWidth > innerWidth - 120`)
	b.closes()
}

// TestPageChartMeasures chooses another measure, and sees the values under the pointer.
func TestPageChartMeasures(t *testing.T) {
	onlyFull(t)
	model := e2etest.NewModel(t, e2etest.Queries("", "Counts and sums.", "SELECT city, count(*) AS orders, sum(amount) AS total_amount FROM orders GROUP BY 1"))
	c, b := counter(t, model.Env()...)
	b.signIn(c.Token)
	b.asks("nl2ql", "Show the cities")
	b.bars(3)
	first := get[string](b, `document.querySelector('.chart [role=graphics-document]').ariaLabel`)
	b.is(`(() => { const s = document.querySelector('select[aria-label=Measure]'); s.value = '1'; return s.dispatchEvent(new Event('change', {bubbles: true})) })()`)
	b.is(fmt.Sprintf(`![%s, undefined].includes(document.querySelector('.chart [role=graphics-document]')?.ariaLabel)`, e2etest.ToJSON(first)))
	b.bars(3)
	// A chart that is drawn again meanwhile does not see the mouse.
	waittest.Until(t, "a tip", func() bool {
		at := get[[]float64](b, `(() => { const r = document.querySelector('.chart .mark-rect.role-mark path').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`)
		for _, x := range []float64{0, at[0]} {
			call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: at[1]})
		}
		return get[bool](b, `[...document.querySelectorAll('.chart-tip')].some((e) => e.checkVisibility() && e.textContent.includes('City'))`)
	})
	b.press("Points")
	b.is(`document.querySelectorAll('.chart .mark-symbol.role-mark path').length === 3`)
}

// openMenu opens the menu of the first bar of the last chart, by the keyboard.
func (b *tab) openMenu() {
	b.t.Helper()
	b.is(`[...document.querySelectorAll('.chart-frame svg')].at(-1)`)
	b.is(`([...document.querySelectorAll('.chart-frame')].at(-1).focus(), document.activeElement.role === 'application')`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.sees(".chart [role=status]", "City: Berlin")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.is(`document.activeElement.closest('.chart-tip')?.textContent.includes('Only this')`)
}

// TestPageChartMenu sees the rows behind a bar, and asks the question of it alone. The keyboard
// is enough, and values stand beside the bars.
func TestPageChartMenu(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.asks("nl2ql", "How many orders are there per city?")
	b.bars(3)
	b.is(`[...document.querySelectorAll('.chart .mark-text.role-mark text')].map((e) => e.textContent).join() === '2,1,1'`)
	b.openMenu()
	b.do(chromedp.KeyEvent(kb.Escape))
	b.is(`!document.querySelector('.chart-tip') && document.activeElement.className === 'chart-frame'`)
	b.openMenu()
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees(".behind h3", "City: Berlin")
	b.is(`document.querySelectorAll('.behind tbody tr').length === 2`)
	b.press("Hide these rows")
	b.is(`!document.querySelector('.behind')`)
	b.openMenu()
	b.press("Only this")
	b.sees("article.turn:last-of-type .question", "Only Berlin")
	b.sees("article.turn:last-of-type .figure", "2")
}
