package page

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// chromiumProgram is Chromium without windows, which takes half the time.
const chromiumProgram = "chromium-headless-shell"

// chromium is the one browser of the tests; each test has a context of its own in
// it, with its own storage.
var chromium struct {
	once  sync.Once
	ctx   context.Context
	close func()
	err   error
}

func startChromium() {
	dir, err := os.MkdirTemp("", "parley-chromium-")
	if err != nil {
		chromium.err = err
		return
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromiumProgram), chromedp.WSURLReadTimeout(time.Minute), chromedp.Flag("lang", "en-US"),
		chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.Env("TMPDIR=" + dir),
	}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update",
		"disable-sync", "disable-dev-shm-usage", "disable-background-timer-throttling", "disable-renderer-backgrounding", "hide-scrollbars",
		"force-prefers-reduced-motion",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	chromium.ctx, chromium.close = ctx, func() {
		end()
		endAllocator()
		_ = os.RemoveAll(dir)
	}
	chromium.err = chromedp.Do(ctx)
}

// closeChromium ends the browser, if it was started.
func closeChromium() {
	chromium.once.Do(func() {})
	if chromium.close != nil {
		chromium.close()
	}
}

// onlyFull runs a test beside others, and in full runs only: browsers took a third of the time of all tests.
func onlyFull(t *testing.T) {
	t.Helper()
	fulltest.Only(t)
	t.Parallel()
}

// tab is a page that a test uses as a person would.
type tab struct {
	t   *testing.T
	ctx context.Context
	// known are the origins that may be asked for something.
	known []string

	mu sync.Mutex
	// wrong is what the browser complained of, unheard what failed to load.
	wrong, unheard []string
	// origins are those that something was asked of.
	origins []string
	// mayFail allows requests to fail, in a test in which they must.
	mayFail bool
}

// strict has the page itself tell of what its policy refused.
const strict = `addEventListener('securitypolicyviolation', (e) => console.error('CSP: ' + e.violatedDirective + ' ' + e.blockedURI))`

// browse opens an address in a browser of its own. When the test ends, nothing
// may have gone wrong in it, and nobody but the server, and the others that are
// named, been asked for anything.
func browse(t *testing.T, address string, others ...string) *tab {
	t.Helper()
	if _, err := exec.LookPath(chromiumProgram); err != nil {
		servertest.Lacking(t, "the tests of the page need %s: %v", chromiumProgram, err)
	}
	chromium.once.Do(startChromium)
	if chromium.err != nil {
		servertest.Lacking(t, "the tests of the page need %s: %v", chromiumProgram, chromium.err)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	b := &tab{t: t, ctx: ctx, known: append(others, u.Scheme+"://"+u.Host)}
	t.Cleanup(func() {
		if t.Failed() {
			b.dump()
		}
		cancel()
		b.check()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	console, requests := chromedp.Console(ctx), chromedp.Events(ctx, network.RequestWillBeSent)
	go b.hear(console)
	go b.watch(requests)
	call(b, network.Enable, network.EnableParams{})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: strict})
	b.do(chromedp.EmulateViewport(1200, 850), chromedp.Navigate(address))
	return b
}

// call sends the browser a command.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waittest.Limit)
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// hear collects what the browser says.
func (b *tab) hear(console iter.Seq2[chromedp.ConsoleMessage, error]) {
	for message, err := range console {
		if err != nil {
			return // the test has ended
		}
		b.mu.Lock()
		if message.Source == "network" {
			b.unheard = append(b.unheard, message.String())
		} else if message.IsException() || message.Type == "error" || message.Type == "warning" {
			b.wrong = append(b.wrong, message.String())
		}
		b.mu.Unlock()
	}
}

// watch collects whom the page asks.
func (b *tab) watch(requests iter.Seq2[network.EventRequestWillBeSent, error]) {
	for request, err := range requests {
		if err != nil {
			return
		}
		if u, err := url.Parse(request.Request.URL); err == nil && u.Host != "" {
			b.mu.Lock()
			b.origins = append(b.origins, u.Scheme+"://"+u.Host)
			b.mu.Unlock()
		}
	}
}

func (b *tab) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		b.t.Errorf("the browser complained: %q", b.wrong)
	}
	if len(b.unheard) > 0 && !b.mayFail {
		b.t.Errorf("requests failed: %q", b.unheard)
	}
	others := slices.DeleteFunc(slices.Compact(b.origins), func(origin string) bool { return slices.Contains(b.known, origin) })
	if len(others) > 0 {
		b.t.Errorf("others were asked: %q", others)
	}
}

// dump keeps what a test that failed saw.
func (b *tab) dump() {
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.hash + '\n' + document.body.innerText`))
	if err != nil {
		return
	}
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return
	}
	b.t.Logf("the page shows:\n%s", text)
	if dir := os.Getenv("PAGE_SHOTS"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "failed-"+strings.ReplaceAll(b.t.Name(), "/", "-")+".png"), shot, 0o600)
	}
}

// do runs actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waittest.Limit)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// get evaluates an expression in the page.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, waittest.Limit)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// named is a way to find a thing by the words that people, or screen readers, see
// on it.
func named(words string) string {
	quoted := `"` + words + `"`
	return `//*[(self::button or self::a or self::summary or self::label or self::select) and (normalize-space(.)=` + quoted + ` or @aria-label=` + quoted + `)]`
}

// press clicks on what has a name.
func (b *tab) press(words string) {
	b.t.Helper()
	b.pressIn("", words)
}

// pressIn clicks on what has a name within what an XPath finds.
func (b *tab) pressIn(within, words string) {
	b.t.Helper()
	b.click(within + named(words))
}

// clickable returns the center of the first element of an XPath that is visible, enabled,
// in the same place for two frames and not covered by another element; null otherwise. An
// element that is out of view, or covered by what is fixed at an edge, is scrolled.
const clickable = `(async (path) => {
	const found = document.evaluate(path, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE)
	const all = Array.from({length: found.snapshotLength}, (_, i) => found.snapshotItem(i))
	const element = all.find((e) => e.checkVisibility({visibilityProperty: true}))
	if (!element) return null
	const center = () => {
		const box = element.getClientRects()[0]
		return box ? [box.x + box.width / 2, box.y + box.height / 2] : [-1, -1]
	}
	const onTop = ([x, y]) => element.contains(document.elementFromPoint(x, y))
	if (!onTop(center())) element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'})
	const frame = () => Promise.race([new Promise(requestAnimationFrame), new Promise((done) => setTimeout(done, 500))])
	const before = center()
	await frame()
	await frame()
	const now = center()
	if (element.disabled || !onTop(now) || now[0] !== before[0] || now[1] !== before[1]) return null
	window.wasClicked = false
	element.addEventListener('click', () => { window.wasClicked = true }, {once: true, capture: true})
	return now
})(%s)`

// click clicks on what an XPath finds, once it is clickable: a click on a page that
// moves would meet something else. A busy browser can lose a click: then a person
// clicks again.
func (b *tab) click(path string) {
	b.t.Helper()
	var err error
	for deadline := time.Now().Add(waittest.Limit); time.Now().Before(deadline) && b.ctx.Err() == nil; {
		// A page that is just being loaded has nothing to evaluate in.
		var at []float64
		ctx, cancel := context.WithDeadline(b.ctx, deadline)
		at, err = chromedp.Run(ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(clickable, e2etest.ToJSON(path)), chromedp.EvalAwaitPromise))
		cancel()
		if err == nil && at != nil {
			b.do(chromedp.MouseClickXY(at[0], at[1]))
			// Another page, which the click has opened, knows of none.
			if lost, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`window.wasClicked === false`)); err != nil || !lost {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatalf("never clickable: %s (%v)", path, err)
}

// closes closes the dialog, and waits until it no longer lies over what is pressed
// next.
func (b *tab) closes() {
	b.t.Helper()
	b.press("Close")
	b.is(`!document.querySelector('dialog')`)
}

// last returns the XPath of the last thing of a kind, such as "article.turn".
func (b *tab) last(kind string) string {
	element, class, _ := strings.Cut(kind, ".")
	return `(//` + element + `[contains(concat(" ", @class, " "), " ` + class + ` ")])[last()]`
}

// write writes a text into a field, in the place of what is there. It types the last
// character and inserts those before at once: three events for each would take long.
func (b *tab) write(selector, text string) {
	b.t.Helper()
	field := fmt.Sprintf(`document.querySelector(%s)`, e2etest.ToJSON(selector))
	b.is(`((field) => (field.focus(), field.select(), document.activeElement === field))(` + field + `)`)
	last, size := utf8.DecodeLastRuneInString(text)
	if size < len(text) {
		call(b, input.InsertText, input.InsertTextParams{Text: text[:len(text)-size]})
	}
	b.do(chromedp.KeyEvent(string(last)))
	b.is(field + `.value === ` + e2etest.ToJSON(text))
}

// holds returns whether a condition holds within a second. It looks again within the page: a
// request for each look takes the browser longer.
const holds = `(async () => {
	for (const end = performance.now() + 1000; performance.now() < end; await new Promise((done) => setTimeout(done, 20))) {
		if (%s) return true
	}
	return false
})()`

// is waits until a condition holds in the page.
func (b *tab) is(condition string) {
	b.t.Helper()
	deadline := time.Now().Add(waittest.Limit)
	for {
		// A page that is just being loaded has nothing to evaluate in.
		ctx, cancel := context.WithDeadline(b.ctx, deadline)
		held, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(holds, condition), chromedp.EvalAwaitPromise))
		cancel()
		if err == nil && held {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(deadline) {
			b.t.Fatalf("never: %s (%v)", condition, err)
		}
		if err != nil {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// sees waits until a thing that a selector finds shows some words.
func (b *tab) sees(selector, words string) {
	b.t.Helper()
	b.is(fmt.Sprintf(`[...document.querySelectorAll(%s)].some((e) => e.checkVisibility() && e.textContent.includes(%s))`, e2etest.ToJSON(selector), e2etest.ToJSON(words)))
}

// count returns how many things a selector finds.
func (b *tab) count(selector string) int {
	b.t.Helper()
	return get[int](b, fmt.Sprintf(`document.querySelectorAll(%s).length`, e2etest.ToJSON(selector)))
}

// signIn signs in with a token.
func (b *tab) signIn(token string) {
	b.t.Helper()
	b.write("#token", token)
	b.press("Sign in")
	b.is(`document.querySelector('.console')`)
}

// asks asks a question of an agent and waits for the end of its run.
func (b *tab) asks(agent, question string) {
	b.t.Helper()
	// The turn is told from those before by itself: their number changes when another
	// conversation is about to open.
	b.is(`(window.turnBefore = [...document.querySelectorAll('article.turn')].at(-1), true)`)
	if !get[bool](b, `document.querySelector('[name=agent]:checked')?.value === `+e2etest.ToJSON(agent)) {
		b.press(map[string]string{"assistant": "Answer", "nl2ql": "Rows only"}[agent])
	}
	b.write("#question", question)
	b.press("Ask")
	b.is(`((turn) => turn && turn !== turnBefore && turn.dataset.state !== 'working')([...document.querySelectorAll('article.turn')].at(-1))`)
	// A chart that is drawn moves what is below it away from the mouse.
	b.is(`[...document.querySelectorAll('article.turn .chart')].every((chart) => !chart.checkVisibility() || chart.querySelector('.chart-frame svg, [role=alert]'))`)
}
