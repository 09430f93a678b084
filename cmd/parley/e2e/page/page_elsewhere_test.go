package page

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// adds makes a dataset of one row without the page.
func adds(c e2etest.Client, namespace, dataset string) {
	c.T.Helper()
	if status := c.Ask("POST", "/ingest/"+namespace+"/"+dataset, e2etest.Object{"data": []e2etest.Object{{"code": "x"}}}, nil); status != http.StatusOK {
		c.T.Fatalf("ingest: %d", status)
	}
}

// TestPageElsewhere shows data that came in without the page.
func TestPageElsewhere(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.signIn(c.Token)
	b.sees(".welcome", "The answer comes from orders")
	adds(c, "shop", "first")
	adds(c, "vault", "secrets")
	b.press("Data")
	b.sees(".dataset", "first")
	b.sees(".namespace", "vault")
	adds(c, "shop", "second")
	b.press("Data") // which is open
	b.sees(".dataset", "second")
	adds(c, "shop", "third")
	b.press("New question")
	b.sees(".welcome", "third")
	adds(c, "shop", "fourth")
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/fourth"))
	b.sees(".rows-frame", "x")

	// Coming back to the tab changes nothing but what is new.
	b.do(chromedp.Navigate(c.URL + "/#/alice/shop/data/orders"))
	b.sees(".pager", "of 4")
	b.press("city")
	b.is(`document.querySelector('[aria-sort=ascending]')`)
	adds(c, "later", "more")
	b.is(`document.dispatchEvent(new Event('visibilitychange'))`)
	b.sees(".namespace", "later")
	b.is(`document.querySelector('[aria-sort=ascending]')`)
}

// TestPageDeletedElsewhere says that a dataset is gone, and offers nothing to do with it.
func TestPageDeletedElsewhere(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.mayFail = true // 404
	adds(c, "shop", "codes")
	b.signIn(c.Token)
	b.press("Data")
	b.press("codes")
	b.sees(".dataset-view", "1 row · 1 column")
	b.sees(".rows-frame", "x")
	if status := c.Ask("DELETE", "/data/self/shop/codes", nil, nil); status >= http.StatusBadRequest {
		t.Fatalf("delete: %d", status)
	}
	b.click(`//button[@title="Sort by code"]`)
	b.sees(".dataset-view .empty", "This dataset was deleted or renamed.")
	b.is(`!document.querySelector('.dataset-view button')`)
}
