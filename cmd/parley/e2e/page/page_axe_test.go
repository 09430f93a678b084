package page

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// violations returns what axe-core finds wrong with what the page shows, a line each, once
// its colors no longer change. A browser that draws no frames for a while ends no transition.
const violations = `(async (runOnly) => {
	const atMost = (ms, promise) => Promise.race([promise, new Promise((done) => setTimeout(done, ms))])
	for (let i = 0; i < 2; i++) await atMost(500, new Promise(requestAnimationFrame))
	await atMost(5000, Promise.allSettled(document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished)))
	const found = await axe.run(document, {preload: false, resultTypes: ['violations'], runOnly})
	return found.violations.flatMap((rule) => rule.nodes.map((node) => rule.id + ': ' + node.target.join(' ') + ': ' + node.failureSummary)).join('\n')
})(%s)`

// schemes are the color schemes with the rules that axe-core applies. The dark one differs from
// the light one in colors alone.
var schemes = []struct{ name, rules string }{
	{"light", `['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']`},
	{"dark", `['color-contrast', 'link-in-text-block']`},
}

// widths are those of wide windows and of phones. Windows of tablets show the same elements as
// wide ones: only whether they fit is looked at.
var widths, tablet = []int64{1440, 390}, int64(768)

// awaited evaluates an expression that is a promise of a text.
func awaited(b *tab, expression string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waittest.Limit)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// accessible returns a way to have axe-core look at a view that the page shows, light and
// dark, in several widths.
func accessible(b *tab) (looks func(view string)) {
	b.t.Helper()
	dir, err := nodetest.Packages(b.t, "testdata/axe")
	if err != nil {
		servertest.Lacking(b.t, "this test needs npm packages: %v", err)
	}
	source, err := os.ReadFile(filepath.Join(dir, "node_modules/axe-core/axe.min.js"))
	if err != nil {
		b.t.Fatal(err)
	}
	return func(view string) {
		b.t.Helper()
		if get[bool](b, `typeof axe === 'undefined'`) {
			b.is(strings.TrimSuffix(string(source), ";") + `, true`)
		}
		for _, scheme := range schemes {
			for _, width := range widths {
				call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme.name}, {Name: "prefers-reduced-motion", Value: "reduce"},
				}})
				b.do(chromedp.EmulateViewport(width, 900))
				b.fits(view)
				found := ""
				for range 5 { // a change of colors may still be under way
					if found = awaited(b, fmt.Sprintf(violations, scheme.rules)); found == "" {
						break
					}
				}
				if found != "" {
					b.t.Errorf("%s, %s, %d pixels wide:\n%s", view, scheme.name, width, found)
				}
			}
		}
		b.do(chromedp.EmulateViewport(tablet, 900))
		b.fits(view)
		b.do(chromedp.EmulateViewport(1440, 900))
		b.is(`innerWidth === 1440`)
	}
}

// TestPageAccessible has axe-core look at the views that people use every day.
func TestPageAccessible(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	looks := accessible(b)
	b.sees("h1", "Ask about your data")
	looks("sign in")
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	looks("a new question")
	b.asks("assistant", "How many orders are there per city?")
	looks("a conversation")
	b.openMenu()
	looks("the menu of a bar")
	b.do(chromedp.KeyEvent("\x1b"))
	b.press("Table")
	looks("a table")
	b.press("Query")
	b.press("Run")
	b.sees(".result .result", "3 rows")
	looks("a query")
	b.asks("nl2ql", "How many orders are there for each cty?")
	b.sees(".suggestions", "How many orders are there for each city?")
	b.pressIn(b.last("article.turn"), "Edit the question")
	looks("a refusal and an edited question")
	b.press("Discard")
	b.press("Rename “How many orders are there per city?”")
	looks("another title")
	b.closes()
	b.press("Keyboard shortcuts")
	looks("shortcuts")
	b.closes()
	b.press("Save as verified")
	b.is(`document.querySelector('[aria-label="Remove from verified"]')`)
	b.press("Pin to the board")
	b.is(`document.querySelector('[aria-label="Remove from the board"]')`)
	b.press("New question")
	b.asks("assistant", "How many orders are there per city?")
	b.sees(".badge", "Verified")
	looks("a verified answer")
	b.pressIn(b.last("article.turn"), "How do we know?")
	b.sees("dialog .facts", "alice/shop/orders")
	b.press("Run it again")
	b.sees("dialog [role=status]", "The same")
	looks("a receipt")
	b.closes()
	b.pressIn(b.last("article.turn"), "Share this answer")
	b.press("Make a link")
	b.is(`document.querySelector('dialog input')?.value`)
	looks("a link")
	link := get[string](b, `document.querySelector('dialog input').value`)
	b.closes()
	b.is(`location.href = ` + e2etest.ToJSON(link))
	b.sees(".shared", "alice asked this")
	looks("a shared answer")
	b.press("Board")
	b.bars(3)
	looks("a board")
	b.press("Data")
	b.sees(".dataset", "4 rows")
	looks("the datasets")
	b.press("Describe orders")
	looks("a description")
	b.closes()
	b.press("Share orders")
	b.sees(".shares", "Nobody else")
	looks("shares")
	b.closes()
	b.click(`//*[contains(concat(" ", @class, " "), " data ")]/header//*[contains(concat(" ", @class, " "), " primary ")]`)
	looks("the choice of a file")
	b.closes()
	for range 2 { // the second time there are rows
		b.drop("prices.csv", prices)
		b.sees("dialog .first-rows", "plum")
		b.press("Reading options")
		looks("a preview")
		if b.count(".mode") > 0 {
			b.click(`//input[@name="mode" and @value="append"]`)
		}
		b.imports()
		b.sees("dialog [role=status]", "shop/prices: ")
		looks("a report")
		b.closes()
		b.sees(".dataset", "prices")
	}
	b.press("prices")
	b.sees(".rows-frame", "plum")
	for _, tab := range []string{"Rows", "Columns", "Links", "History"} {
		b.press(tab)
		b.is(`!document.querySelector('.dataset-view .waiting')`)
		looks(tab)
	}
}

// TestDocsAccessible has axe-core look at the description of the interface.
func TestDocsAccessible(t *testing.T) {
	onlyFull(t)
	b := browse(t, e2etest.Serve(t, t.TempDir(), nil).URL+"/docs")
	b.sees("h1", "Parley")
	accessible(b)("the description")
}
