package page

import (
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// gallery fills a server with what looks good on a picture.
func gallery(c e2etest.Client) {
	c.T.Helper()
	cities := []string{"Berlin", "Paris", "Berlin", "Lisbon", "Oslo", "Vienna", "Paris", "Berlin", "Porto", "Gdańsk", "Lisbon", "Berlin", "Vienna"}
	products := []string{"Garden chair", "Teapot", "Wool blanket", "Oak table", "Reading lamp"}
	var orders []e2etest.Object
	for i := range 420 {
		day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, i*730/420)
		amount := math.Round((18+float64(i*37%113)*1.7+20*math.Sin(float64(i)/40))*100) / 100
		orders = append(orders, e2etest.Object{"id": i + 1, "day": day.Format(time.DateOnly), "month": day.Format("2006-01") + "-01",
			"city": cities[(i+i*i/50)%len(cities)], "product": products[i*7%len(products)], "amount": amount})
	}
	status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": orders, "dataDescription": "What customers have ordered, one row for each order.",
		"schemaDefinition": e2etest.Object{"amount": "What was paid, in euros", "city": "Where it was sent to"}}, nil)
	if status != http.StatusOK {
		c.T.Fatalf("ingest: %d", status)
	}
	c.Ask("POST", "/ingest/shop/products", e2etest.Object{"data": []e2etest.Object{{"name": "Teapot", "price": 32.5, "stock": 14}, {"name": "Oak table", "price": 480, "stock": 3}}}, nil)
}

// TestPageShots takes pictures for people to look at, into the folder PAGE_SHOTS.
func TestPageShots(t *testing.T) {
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		t.Skip("PAGE_SHOTS names no folder")
	}
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	gallery(c)
	b := browse(t, p.URL)
	shoot := func(name string, width, height int64, dark bool) {
		scheme := "light"
		if dark {
			scheme = "dark"
		}
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		b.do(chromedp.EmulateViewport(width, height), chromedp.Sleep(400*time.Millisecond))
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := func(name string) {
		for _, size := range []struct {
			name          string
			width, height int64
		}{{"wide", 1440, 900}, {"tablet", 768, 1024}, {"phone", 390, 844}} {
			for _, scheme := range []string{"light", "dark"} {
				shoot(name+"-"+size.name+"-"+scheme, size.width, size.height, scheme == "dark")
			}
		}
		b.do(chromedp.EmulateViewport(1200, 850))
	}
	all("sign-in")
	b.signIn(c.Token)
	b.sees(".welcome", "Ask about your data")
	b.sees(".suggestions", "How many")
	all("welcome")
	b.asks("assistant", "How many orders are there per city?")
	b.do(chromedp.Blur(chromedp.CSS("#question")))
	all("assistant")
	b.asks("nl2ql", "What is the average amount of orders for each month?")
	all("line")
	b.asks("nl2ql", "Show all orders with an amount above 150")
	all("rows")
	b.press("Good answer")
	b.sees(".feedback", "Thank you")
	b.press("Keyboard shortcuts")
	all("shortcuts")
	b.do(chromedp.KeyEvent("\x1b"))
	b.asks("nl2ql", "How many orders are there per product?")
	b.pressIn(b.last("article.turn"), "Query")
	b.pressIn(b.last("article.turn"), "Save as verified")
	b.is(`document.querySelector('[aria-label="Remove from verified"]')`)
	all("query")
	b.press("Pin to the board")
	b.is(`document.querySelector('[aria-label="Remove from the board"]')`)
	b.asks("assistant", "How many orders are there per product?")
	b.sees(".badge", "Verified")
	all("verified")
	b.press("Board")
	b.is(`document.querySelector('.pins .chart svg')`)
	all("board")
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data", p.URL)))
	b.sees(".dataset", "What was paid")
	all("data")
	b.press("Describe orders")
	all("describe")
	b.do(chromedp.KeyEvent("\x1b"))
	b.press("Share orders")
	b.sees(".shares", "Nobody else")
	all("share")
	b.do(chromedp.KeyEvent("\x1b"))
	b.click(`//*[contains(concat(" ", @class, " "), " data ")]/header//*[contains(concat(" ", @class, " "), " primary ")]`)
	all("upload")
	b.do(chromedp.KeyEvent("\x1b"))
	b.drop("prices.csv", prices)
	b.sees("dialog .first-rows", "plum")
	all("preview")
	b.press("Reading options")
	b.imports()
	b.sees("dialog [role=status]", "shop/prices: 3 rows")
	all("imported")
	b.press("Show the data")
	b.press("Columns")
	b.sees(".profiles", "in €")
	all("columns-small")
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data/orders", p.URL)))
	b.sees(".pager", "of 420")
	all("dataset")
	b.press("Columns")
	b.sees(".profiles", "What was paid")
	all("columns")
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data/prices", p.URL)))
	b.press("Links")
	b.is(`document.querySelector('.add-link')`)
	all("links")
	b.press("History")
	b.press("How it was read")
	all("history")
	b.drop("prices.csv", prices)
	b.sees("dialog .mode", "shop/prices has")
	b.is(`(document.querySelector('dialog').scrollTop = 10000, true)`)
	all("append-or-replace")
	b.do(chromedp.KeyEvent("\x1b"))
	b.do(chromedp.EmulateViewport(390, 844))
	b.press("Menu")
	shoot("menu-phone-light", 390, 844, false)
	shoot("menu-phone-dark", 390, 844, true)
	b.press("Close the menu")
	b.mayFail = true
	kill(p)
	b.press("Rows")
	b.sees(".away", "cannot be reached")
	all("away")
}
