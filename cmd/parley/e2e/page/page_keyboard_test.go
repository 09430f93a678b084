package page

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// keys presses keys, one after the other.
func (b *tab) keys(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// opens opens a dialog by keyboard. It holds the focus until Escape closes it, which gives the
// focus back.
func (b *tab) opens(opener string) {
	b.t.Helper()
	const inside = `(document.querySelector('dialog[open]')?.contains(document.activeElement) || document.activeElement === document.body)`
	b.tabTo(opener)
	b.keys(kb.Enter)
	b.is(`document.querySelector('dialog[open]')?.contains(document.activeElement)`)
	for range 8 {
		b.keys(kb.Tab)
		if !get[bool](b, inside) {
			b.t.Errorf("Tab leaves the dialog of %q", opener)
		}
	}
	b.keys(kb.Escape)
	b.is(`!document.querySelector('dialog')`)
	b.is(`[document.activeElement.ariaLabel, document.activeElement.textContent.trim()].includes(` + e2etest.ToJSON(opener) + `)`)
}

// TestPageDialogsByKeyboard opens every dialog without a mouse and leaves it.
func TestPageDialogsByKeyboard(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(768, 900))
	b.signIn(c.Token)
	b.asks("assistant", "How many orders are there per city?")
	b.bars(3)
	for _, opener := range []string{"Add a file", "Rename “How many orders are there per city?”", "Delete “How many orders are there per city?”", "Keyboard shortcuts", "Show in full width", "Share this answer"} {
		b.opens(opener)
	}
	b.tabTo("Data")
	b.keys(kb.Enter)
	b.sees(".dataset", "4 rows")
	for _, opener := range []string{"Share", "Add rows to orders", "Describe orders", "Share orders", "Delete orders"} {
		b.opens(opener)
	}
	b.tabTo("orders")
	b.keys(kb.Enter)
	b.sees(".rows-frame", "plum")
	for _, opener := range []string{"Describe", "Rename", "Share", "Delete", "Add rows"} {
		b.opens(opener)
	}
}

// TestPageWorksByKeyboard sorts, filters, imports, shares, changes who answers and deletes
// without a mouse.
func TestPageWorksByKeyboard(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.do(chromedp.EmulateViewport(768, 900))
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	b.is(`document.activeElement.id === 'question'`)
	b.keys(kb.Tab, kb.ArrowRight)
	b.is(`document.querySelector('[name=agent]:checked').value === 'nl2ql'`)
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
	b.sees(".rows-frame", "plum")
	b.tabTo("city")
	b.keys(kb.Enter)
	b.is(`document.querySelector('[aria-sort=ascending]')?.textContent === 'city'`)
	b.is(`(document.querySelector('main').focus(), true)`)
	b.tabTo("Column")
	b.keys(kb.ArrowDown)
	b.tabTo("Value")
	b.keys("Oslo", kb.Enter)
	b.sees(".pager", "Rows 1–1 of 1")
	b.tabTo("Show all")
	b.keys(kb.Enter)
	b.sees(".pager", "of 4")
	b.is(`(document.querySelector('main').focus(), true)`)
	b.tabTo("Columns")
	b.keys(kb.Enter)
	b.is(`document.querySelectorAll('.profiles .histogram rect').length > 3`)

	for _, mode := range []string{"", "Replace: delete them and keep only the new rows"} {
		b.drop("prices.csv", prices)
		b.is(`document.querySelector('dialog .first-rows')`)
		if mode != "" {
			b.tabTo("Append: keep them and add the new rows")
			b.keys(" ", kb.ArrowDown)
			b.is(`document.querySelector('[name=mode]:checked').value === 'replace'`)
		}
		b.tabTo("Import 3 rows")
		b.keys(kb.Enter)
		b.sees("dialog [role=status]", "shop/prices: ")
		b.tabTo("Show the data")
		b.keys(kb.Enter)
		b.is(`location.hash === '#/alice/shop/data/prices' && !document.querySelector('dialog')`)
	}

	b.sees(".rows-frame", "plum")
	b.tabTo("Share")
	b.keys(kb.Enter)
	b.sees(".shares", "Nobody else")
	b.tabTo("Username or group")
	b.keys("bob", kb.Enter)
	b.sees("dialog [role=alert]", "before")
	b.is(`!document.querySelector('.share-form .primary').disabled`)
	b.keys(kb.Enter)
	b.sees(".shares .share-name", "bob")
	b.tabTo("Stop sharing with bob")
	b.keys(kb.Enter)
	b.sees(".shares", "Nobody else")
	b.is(`document.querySelector('dialog').contains(document.activeElement)`)
	b.keys(kb.Escape)
	b.is(`!document.querySelector('dialog')`)
	b.tabTo("Delete")
	b.keys(kb.Enter)
	b.is(`document.querySelector('dialog[open]')`)
	b.tabTo("Delete")
	b.keys(kb.Enter)
	b.is(`location.hash === '#/alice/shop/data' && document.querySelectorAll('.dataset').length === 1`)
	b.is(`document.activeElement.matches('main')`) // the button that had the focus is gone
}
