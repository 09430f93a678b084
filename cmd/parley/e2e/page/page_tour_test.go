package page

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestTourShots takes the pictures of docs/tour.md from the demo, into the folder PAGE_SHOTS.
func TestTourShots(t *testing.T) {
	dir := os.Getenv("PAGE_SHOTS")
	if dir == "" {
		t.Skip("PAGE_SHOTS names no folder")
	}
	p := e2etest.Start(t, t.TempDir(), []string{"TMPDIR=" + t.TempDir()}, "demo", "--listen", "127.0.0.1:0")
	e2etest.Eventually(t, func() bool { return strings.Contains(p.More.String(), "Ctrl-C ends") })
	token := regexp.MustCompile(`/#token=(\S+)`).FindStringSubmatch(p.More.String())[1]
	b := browse(t, p.URL)
	shoot := func(name string) {
		shot, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tour-"+name+".png"), shot, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(question string) {
		b.asks("assistant", question)
		b.do(chromedp.Blur(chromedp.CSS("#question")))
		b.do(chromedp.Sleep(2 * time.Second))
		b.is(`([...document.querySelectorAll('article.turn')].at(-1).scrollIntoView(), true)`)
		b.do(chromedp.Sleep(time.Second))
	}

	b.signIn(token)
	b.is(`document.querySelector(".suggestions button")`)
	shoot("start")
	ask("What is the total amount per month?")
	shoot("answer")
	ask("and by channel?")
	shoot("follow-up")
	ask("How much does express delivery cost?")
	shoot("document")
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data", p.URL)))
	b.sees(".dataset", "orders")
	shoot("data")
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data/orders", p.URL)))
	b.press("Columns")
	b.sees(".profiles", "amount")
	shoot("columns")
	b.drop("prices.csv", prices)
	b.sees("dialog .first-rows", "plum")
	shoot("import")
	b.do(chromedp.KeyEvent("\x1b"))
	b.do(chromedp.Navigate(fmt.Sprintf("%s/#/alice/shop/data", p.URL)))
	b.press("Share orders")
	b.do(chromedp.Sleep(2 * time.Second))
	shoot("share")
}
