package page

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// numbers returns the second cells, the numbers, of the rows that are shown, with spaces between.
const numbers = `[...document.querySelectorAll('.rows-frame tbody tr > :nth-child(2)')].map((e) => e.textContent).join(' ')`

// numbered starts a server on which alice has 250 rows, with a column in which every
// tenth is missing.
func numbered(t *testing.T) (e2etest.Client, *tab) {
	t.Helper()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	rows := make([]e2etest.Object, 250)
	for i := range rows {
		rows[i] = e2etest.Object{"n": i + 1, "city": []string{"Oslo", "Paris", "Oslo's port"}[i%3], "note": nil}
		if i%10 > 0 {
			rows[i]["note"] = fmt.Sprintf("row %d", i+1)
		}
	}
	if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": rows, "schemaDefinition": e2etest.Object{"city": "Where it went"}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	return c, browse(t, p.URL)
}

// TestPageRows pages through the rows of a dataset, sorts and filters them, copies and
// downloads them, with a mouse and by keyboard.
func TestPageRows(t *testing.T) {
	onlyFull(t)
	c, b := numbered(t)
	b.mayFail = true // a filter that does not fit
	b.do(chromedp.EmulateViewport(1440, 900))
	b.signIn(c.Token)
	b.press("Data")
	b.press("orders")
	b.is(`location.hash === '#/alice/shop/data/orders'`)
	b.sees(".dataset-view", "250 rows · 3 columns")
	b.sees(".pager", "Rows 1–100 of 250")
	b.press("Next")
	b.sees(".pager", "Rows 101–200 of 250")
	b.press("Next")
	b.sees(".pager", "Rows 201–250 of 250")
	b.is(`document.querySelectorAll('.rows-frame tbody tr').length === 50`)
	b.press("n")
	b.sees(".pager", "Rows 1–100 of 250")
	b.is(`document.querySelector('[aria-sort=ascending]').textContent === 'n'`)
	b.press("n")
	b.is(`document.querySelector('[aria-sort=descending]') && ` + numbers + `.startsWith('250 249 248')`)

	b.selects("Column", "city")
	b.selects("Comparison", "is")
	b.write(".filter input", "Oslo's port")
	b.press("Filter")
	b.sees(".pager", "of 83")
	b.is(numbers + `.startsWith('249 246')`)
	b.selects("Column", "n")
	b.selects("Comparison", "is at least")
	b.write(".filter input", "many")
	b.press("Filter")
	b.sees("[role=alert]", "“many” is not a number")
	b.sees(".pager", "No rows")
	b.write(".filter input", "0,248")
	b.press("Filter")
	b.sees("[role=alert]", "“0,248” is not a number")
	b.write(".filter input", "248.0")
	b.press("Filter")
	b.is(numbers + ` === '250 249 248' && !document.querySelector('[role=alert]')`)
	b.selects("Column", "note")
	b.selects("Comparison", "is missing")
	b.press("Filter")
	b.sees(".pager", "of 25")
	b.press("Show all")
	b.sees(".pager", "of 250")

	b.press("Copy these rows")
	b.is(`document.querySelector('[aria-label=Copied]')`)
	dir := b.downloads()
	b.press("Download")
	b.press("CSV")
	file := downloaded(t, dir, "orders.csv")
	if lines := strings.Split(file, "\n"); len(lines) != 252 || lines[0] != "city,n,note" || lines[250] != "Oslo,250,row 250" {
		t.Errorf("%d lines, %q", len(lines), file[:min(len(file), 200)])
	}
	b.is(`!document.querySelector('dialog')`)
	b.press("Download")
	b.press("Parquet")
	if file := downloaded(t, dir, "orders.parquet"); !strings.HasPrefix(file, "PAR1") || !strings.HasSuffix(file, "PAR1") {
		t.Errorf("%d bytes of Parquet", len(file))
	}
	b.is(`!document.querySelector('dialog')`)

	// The names stay in sight while a phone shows the rest.
	b.do(chromedp.EmulateViewport(390, 844))
	b.fits("rows")
	b.is(`(() => {
		const frame = document.querySelector('.rows-frame')
		frame.scrollTo(frame.scrollWidth, 300)
		const box = frame.getBoundingClientRect(), head = frame.querySelector('thead th').getBoundingClientRect()
		const first = frame.querySelector('tbody tr:nth-child(30) > :first-child').getBoundingClientRect()
		return Math.abs(head.top - box.top) < 3 && Math.abs(head.left - box.left) < 3 && Math.abs(first.left - box.left) < 3
	})()`)
	b.is(`(document.querySelector('.rows-frame').focus(), true)`)
	b.tabTo("Next")
	b.do(chromedp.KeyEvent("\r"))
	b.sees(".pager", "Rows 101–200 of 250")
}

// TestPageColumns looks at the profile of a dataset and at its history, and reads its file
// again with another type.
func TestPageColumns(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(390, 844))
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	b.drop("prices.csv", prices)
	b.imports()
	b.sees("dialog [role=status]", "shop/prices: 3 rows")
	b.press("Show the data")
	b.is(`location.hash === '#/alice/shop/data/prices'`)
	b.sees(".rows-frame", "plum")
	b.press("Columns")
	b.sees(".profiles li:nth-child(2)", "number in €")
	b.sees(".profiles li:nth-child(2)", "Written as 1.234,56.")
	b.sees(".profiles li:nth-child(2) .facts", "1,234.5")
	b.sees(".profiles li:nth-child(4) .facts", "1 (33.3%)")
	b.is(`document.querySelectorAll('.profiles .histogram rect').length > 3`)
	b.fits("columns")
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	b.is(`getComputedStyle(document.querySelector('.profiles .card')).backgroundColor === 'rgb(35, 39, 47)'`)

	b.press("Read the file again")
	b.sees("dialog .first-rows", "plum")
	b.is(`document.querySelector('dialog [value=replace]').checked`)
	b.selects("Type of stock", "text")
	b.sees("dialog .first-rows", "n/a")
	b.imports()
	b.sees("dialog [role=status]", "now 3 rows (was 3)")
	b.closes()
	b.is(`[...document.querySelectorAll('.profiles li')].at(-1).textContent.includes('text')`)
	b.press("Read the file again") // what was chosen before is still chosen
	b.is(`document.querySelector('[aria-label="Type of stock"]')?.value === 'text'`)
	b.sees("dialog .first-rows", "2025-01-03")
	b.mayFail = true // 422
	b.selects("Type of day", "date, month first")
	b.sees("dialog [role=alert]", "day") // there is no month 14
	b.selects("Type of day", "date, day first")
	b.sees("dialog .first-rows", "2025-02-14")
	b.selects("Type of day", "date and time, day first")
	b.sees("dialog .first-rows", "2025-02-14")
	b.is(`document.querySelector('dialog .first-rows').textContent.includes('00:00')`)
	b.closes()

	b.press("History")
	b.is(`document.querySelectorAll('.attempt[data-status=completed]').length === 2`)
	b.sees(".attempt", "replaced the rows: 3 rows, now 3 rows (was 3)")
	b.sees(".attempt", "1 warning")
	b.press("How it was read")
	b.sees(".attempt .warnings", "Line 2")
	b.fits("history")

	b.press("Rename")
	b.write("#new-name", "costs")
	b.pressIn("//dialog", "Rename")
	b.is(`location.hash === '#/alice/shop/data/costs'`)
	b.sees("h1", "costs")
	b.press("Delete")
	b.pressIn("//dialog", "Delete")
	b.is(`location.hash === '#/alice/shop/data' && document.querySelectorAll('.dataset').length === 1`)
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/costs"))
	b.sees(".empty", "There is no dataset costs here")
}

// paste pastes a text from the clipboard into what a selector finds.
func (b *tab) paste(selector, text string) {
	b.t.Helper()
	b.is(`(() => {
		const clipboardData = new DataTransfer()
		clipboardData.setData('text/plain', ` + e2etest.ToJSON(text) + `)
		return document.querySelector('` + selector + `')?.dispatchEvent(new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true})) !== undefined
	})()`)
}

// TestPagePaste makes a dataset of cells from a spreadsheet, and appends others to it.
func TestPagePaste(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.press("Data")
	b.sees(".dataset", "4 rows")
	b.paste("main", "pet\tweight\nRex\t12,5\nTom\t4,0\n")
	b.sees("dialog .first-rows", "12.5")
	b.write("#dataset", "pets")
	b.imports()
	b.sees("dialog [role=status]", "shop/pets: 2 rows")
	b.press("Show the data")
	b.sees(".rows-frame", "Rex")
	b.press("Add rows")
	b.paste("#cells", "pet\tweight\nMia\t3,5\n")
	b.sees("dialog .mode", "shop/pets has 2 rows")
	b.click(`//input[@name="mode" and @value="append"]`)
	b.imports()
	b.sees("dialog [role=status]", "now 3 rows (was 2)")
	b.closes()
	b.sees(".rows-frame", "Mia")
}

// TestPageEditor offers an editor of one dataset no new name for it: only the owner and the
// editors of the namespace may give it one.
func TestPageEditor(t *testing.T) {
	onlyFull(t)
	for what, want := range map[string]string{"datasets/self/shop/orders": "Download, Describe, Add rows", "namespaces/self/shop": "Download, Describe, Rename, Add rows"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c, b := numbered(t)
			if status := c.Ask("POST", "/permissions/"+what+"/shares", e2etest.Object{"username": "bob", "role": "editor"}, nil); status != http.StatusOK {
				t.Fatalf("share: %d", status)
			}
			b.signIn(c.Process.Token("bob"))
			b.sees(".namespace", "alice/shop")
			b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
			b.sees(".pager", "of 250")
			b.is(`[...document.querySelectorAll(".actions button")].map((e) => e.textContent.trim() || e.ariaLabel).join(', ') === ` + e2etest.ToJSON(want))
		})
	}
}

// TestPageViewer shows a dataset to who may only read it, without what would be refused.
func TestPageViewer(t *testing.T) {
	onlyFull(t)
	c, b := numbered(t)
	if status := c.Ask("POST", "/permissions/datasets/self/shop/orders/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil); status != http.StatusOK {
		t.Fatalf("share: %d", status)
	}
	b.signIn(c.Process.Token("bob"))
	b.sees(".namespace", "alice/shop")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
	b.sees(".dataset-view", "you can read it")
	b.sees(".pager", "of 250")
	if got := get[string](b, `[...document.querySelectorAll(".actions button")].map((e) => e.textContent.trim() || e.ariaLabel).join(', ')`); got != "Download" {
		t.Errorf("a viewer is offered %s", got)
	}
	b.press("Columns")
	b.sees(".profiles", "Where it went")
	if b.count(".retype") > 0 {
		t.Error("a viewer is offered to change types")
	}
}

// TestPageLinks accepts a link that is suggested, adds another one and removes it.
func TestPageLinks(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	for name, rows := range map[string][]e2etest.Object{
		"customers": {{"id": 1, "country": "Germany"}, {"id": 2, "country": "France"}, {"id": 3, "country": "Norway"}},
		"visits":    {{"customer_id": 1, "page": "Home"}, {"customer_id": 3, "page": "Home"}, {"customer_id": 3, "page": "Help"}},
	} {
		if status := c.Ask("POST", "/ingest/shop/"+name, e2etest.Object{"data": rows}, nil); status != http.StatusOK {
			t.Fatalf("ingest: %d", status)
		}
	}
	b.do(chromedp.EmulateViewport(1440, 900))
	b.signIn(c.Token)
	b.sees(".welcome", "customers")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/visits"))
	b.press("Links")
	b.sees("[aria-label='Suggested links']", "customer_id → customers id")
	b.press("Accept")
	b.sees("[aria-label=Links]", "many-to-one · 3 rows with a match")
	b.is(`!document.querySelector("[aria-label='Suggested links'] li")`)
	b.selects("Column", "page")
	b.selects("Other dataset", "customers")
	b.selects("Column of the other dataset", "country")
	b.write(".add-link input", "nothing")
	b.do(chromedp.KeyEvent("\r"))
	b.sees("[aria-label=Links]", "nothing · ")
	b.sees("[aria-label=Links]", "3 rows without one")
	b.do(chromedp.EmulateViewport(390, 844))
	b.fits("links")
	b.click(b.last("ul.links") + `/preceding::button[@aria-label="Remove the link to customers"][1]`)
	b.is(`document.querySelectorAll('[aria-label=Links] li').length === 1`)
	var links struct{ Links []struct{ Dataset string } }
	if status := c.Ask("GET", "/data/self/shop/visits/links", nil, &links); status != http.StatusOK || len(links.Links) != 1 {
		t.Errorf("%d, %+v", status, links)
	}
}
