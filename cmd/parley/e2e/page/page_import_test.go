package page

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// selects chooses an option of a select, by its label.
func (b *tab) selects(label, option string) {
	b.t.Helper()
	b.is(`(() => {
		const select = [...document.querySelectorAll('select')].find((e) => e.getAttribute('aria-label') === ` + e2etest.ToJSON(label) + ` || e.labels[0]?.firstChild.textContent === ` + e2etest.ToJSON(label) + `)
		const option = [...(select?.options ?? [])].find((e) => e.textContent === ` + e2etest.ToJSON(option) + `)
		if (!option || select.matches(':disabled')) return false
		select.value = option.value
		return select.dispatchEvent(new Event('change', {bubbles: true}))
	})()`)
}

// datasetNames returns the names of a user's datasets in a namespace, with spaces between.
func datasetNames(c e2etest.Client, namespace string) string {
	c.T.Helper()
	var list []struct{ Name string }
	if status := c.Ask("GET", "/schema/self/"+namespace+"/datasets", nil, &list); status != http.StatusOK {
		c.T.Fatalf("datasets: %d", status)
	}
	names := make([]string, len(list))
	for i, each := range list {
		names[i] = each.Name
	}
	return strings.Join(names, " ")
}

const prices = "Prices of the shop;;;\nitem;price;day;stock\nplum;1.234,50 €;03.01.2025;7\nlime;0,75 €;14.02.2025;n/a\nfig;2,00 €;28.02.2025;3\n"

// TestPagePreview sees what is in a file, changes how it is read, and stores nothing before
// it is imported; then appends and replaces.
func TestPagePreview(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(1440, 900))
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	b.drop("prices.csv", prices)
	b.sees("dialog .import-file", "fields separated by semicolons, column names in row 2")
	b.sees("dialog .columns-table tr:nth-child(2)", "in €")
	b.is(`document.querySelector('[aria-label="Type of day"]').selectedOptions[0].textContent === 'date (detected)'`)
	b.sees("dialog .first-rows td.number", "1,234.5")
	b.sees("dialog .first-rows", "2025-02-14")
	if got := datasetNames(c, "shop"); got != "orders" {
		t.Errorf("before the import there are %s", got)
	}

	b.selects("Type of price", "text")
	b.sees("dialog .first-rows", "1.234,50 €")
	b.selects("Type of stock", "date")
	b.sees("dialog [role=alert]", "stock")
	b.is(`document.querySelector('dialog footer .primary').disabled`)
	b.selects("Type of stock", "detect")
	b.is(`!document.querySelector('dialog [role=alert]') && !document.querySelector('dialog footer .primary').disabled`)

	b.press("Reading options")
	b.write("#nulls", "n/a, 7")
	b.press("Read the file again")
	b.sees("dialog .columns-table tr:nth-child(4) td.number", "2")
	b.fits("a preview")
	b.imports()
	b.sees("dialog [role=status]", "shop/prices: 3 rows")
	b.sees("dialog .columns-table tr:nth-child(2)", "in €")
	b.closes()
	if got := datasetNames(c, "shop"); got != "orders prices" {
		t.Errorf("after the import there are %s", got)
	}

	for _, test := range []struct{ mode, says string }{{"append", "shop/prices: now 6 rows (was 3)"}, {"replace", "shop/prices: now 3 rows (was 6)"}} {
		b.drop("prices.csv", prices)
		b.sees("dialog .mode", "shop/prices has ")
		b.imports()
		b.is(`document.querySelector('.mode input:invalid') && !document.querySelector('dialog progress')`) // neither is a default
		b.click(`//input[@name="mode" and @value="` + test.mode + `"]`)
		b.imports()
		b.sees("dialog [role=status]", test.says)
		b.closes()
	}

	// What cannot be read at all has the options open.
	b.mayFail = true
	b.drop("broken.csv", "\xff\xfea\x00")
	b.sees("dialog [role=alert]", "")
	b.is(`document.querySelector('.reading').open && document.querySelector('#encoding')`)
	b.closes()
}

// TestPageImportButtons sees the button that imports without scrolling, also on a small phone.
func TestPageImportButtons(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	b.drop("prices.csv", prices)
	b.sees("dialog .first-rows", "plum")
	for _, size := range [][2]int64{{390, 600}, {1440, 900}} {
		b.do(chromedp.EmulateViewport(size[0], size[1]))
		for _, end := range []int{0, 100000} {
			b.is(fmt.Sprintf(`(document.querySelector('dialog').scrollTop = %d, (({top, bottom}) => top > 0 && bottom <= document.querySelector('dialog').getBoundingClientRect().bottom)(document.querySelector('dialog footer button').getBoundingClientRect()))`, end))
		}
	}
}

// workbook writes an Excel file with sheets, to be chosen in the page.
func workbook(t *testing.T, name string, sheets map[string][][]any) string {
	t.Helper()
	f := excelize.NewFile()
	for sheet, rows := range sheets {
		if _, err := f.NewSheet(sheet); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			cell, _ := excelize.CoordinatesToCellName(1, i+1)
			if err := f.SetSheetRow(sheet, cell, &row); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := f.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPageWorkbook makes a dataset of each sheet that is chosen, by keyboard and on a phone.
func TestPageWorkbook(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(390, 844))
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	path := workbook(t, "book.xlsx", map[string][][]any{
		"Sheet1":    {{"item", "price"}, {"plum", 2.5}, {"lime", 0.75}},
		"May 2025":  {{"city", "visits"}, {"Oslo", 12}},
		"Notes old": {{"note", "by"}, {"nothing", "bob"}},
	})
	b.tabTo("Menu")
	b.do(chromedp.KeyEvent("\r"))
	b.tabTo("Add a file")
	b.do(chromedp.KeyEvent("\r"))
	b.choose(path)
	b.is(`document.querySelectorAll('.import-table').length === 3`)
	b.fits("a preview of a workbook")
	b.is(`document.querySelector('dialog').contains(document.activeElement)`)
	b.is(`document.querySelector('[aria-label="Dataset for May 2025"]').value === 'book_May_2025'`)
	b.is(`(document.querySelectorAll('.import-table input[type=checkbox]').forEach((e) => e.closest('label').textContent === 'Notes old' && e.focus()), document.activeElement.type === 'checkbox')`)
	b.do(chromedp.KeyEvent(" "))
	b.is(`!document.querySelector('[aria-label="Dataset for Notes old"]')`)
	b.tabTo("Import 2 tables")
	b.do(chromedp.KeyEvent("\r"))
	b.sees("dialog [role=status]", "shop/book_Sheet1: 2 rows")
	b.sees("dialog [role=status]", "shop/book_May_2025: 1 row")
	b.fits("a report")
	if got := datasetNames(c, "shop"); got != "book_May_2025 book_Sheet1 orders" {
		t.Errorf("there are %s", got)
	}
}

// TestPageSeveralFiles imports files that are dropped together, one after the other, and
// one table of several into a dataset that exists.
func TestPageSeveralFiles(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	drop := func() {
		b.is(`(() => {
			const dataTransfer = new DataTransfer();
			for (const name of ['a.csv', 'b.csv']) dataTransfer.items.add(new File(['n\n' + name + '\n'], name));
			return document.body.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true })) !== undefined;
		})()`)
		b.sees("dialog .first-rows", "a.csv")
		b.sees("dialog .hint", "File 1 of 2. Next: b.csv.")
	}
	drop()
	b.press("Close")
	b.sees("dialog", "b.csv waits to be imported")
	b.closes()
	drop()
	b.imports()
	b.sees("dialog [role=status]", "shop/a: 1 row")
	b.press("Next file: b.csv")
	b.sees("dialog .first-rows", "b.csv")
	b.imports()
	b.sees("dialog [role=status]", "shop/b: 1 row")
	b.closes()
	b.press("Data")
	b.sees(".dataset", "4 rows")
	if got := datasetNames(c, "shop"); got != "a b orders" {
		t.Errorf("there are %s", got)
	}

	b.press("Add rows to a")
	b.choose(fileOf(t, "two.html", "<table><tr><th>x</th></tr><tr><td>1</td></tr></table><table><tr><th>n</th></tr><tr><td>one</td></tr><tr><td>two</td></tr></table>"))
	b.is(`document.querySelectorAll('.import-table input[type=radio]').length === 2 && !document.querySelector('#dataset')`)
	b.click(`(//input[@name="table"])[2]`)
	b.click(`//input[@name="mode" and @value="replace"]`)
	b.click(`//dialog//footer/button[normalize-space(.)="Import 2 rows"]`)
	b.sees("dialog [role=status]", "shop/a: now 2 rows (was 1)")

	// Where the rows did not come from one file that is kept, a file is chosen again.
	b.press("Show the data")
	b.is(`location.hash === '#/alice/shop/data/a'`)
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
	b.sees(".rows-frame", "plum")
	b.press("Columns")
	b.press("Read the file again")
	b.choose(fileOf(t, "orders.csv", "item,amount\nplum,2\n"))
	b.is(`document.querySelector('dialog [value=replace]')?.checked`)
	b.selects("Type of amount", "text")
	b.imports()
	b.sees("dialog [role=status]", "shop/orders: now 1 row (was 4)")
}
