package page

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// halting is a model that says nothing from its second query on, until it is let
// go.
func halting(t *testing.T) (model *e2etest.StandinModel, letGo func()) {
	t.Helper()
	gate := make(chan struct{})
	letGo = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	model = e2etest.NewProvider(t, "ollama", nil)
	lines := map[string]string{
		e2etest.PlanJob:   e2etest.Plans("", "In two steps.", "Count the orders", "Find the cities").Says,
		e2etest.AnswerJob: "**Four** orders, in three cities. [step 1] [step 2]",
	}
	model.Does(func(w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
		switch {
		case q.Job != e2etest.QueryJob:
			model.Say(w, q, lines[q.Job])
		case !strings.Contains(q.Text, "Find the cities"):
			model.Say(w, q, e2etest.Queries("", "", "SELECT count(*) AS n FROM orders").Says)
		default:
			select {
			case <-gate:
				model.Say(w, q, e2etest.Queries("", "", "SELECT city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1").Says)
			case <-r.Context().Done():
			}
		}
	})
	return model, letGo
}

// again starts the program once more where another one was killed: in its folder,
// at its address.
func again(p *e2etest.Process) *e2etest.Process {
	p.T.Helper()
	return e2etest.Serve(p.T, p.Dir, p.Env, "--listen", strings.TrimPrefix(p.URL, "http://"))
}

func kill(p *e2etest.Process) {
	p.T.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait()
}

// begun has a page ask what the model halts at.
func begun(t *testing.T) (e2etest.Client, *tab, func()) {
	t.Helper()
	model, letGo := halting(t)
	c, b := counter(t, model.Env()...)
	b.mayFail = true
	b.signIn(c.Token)
	b.press("Answer")
	b.write("#question", "How many orders, and where?")
	b.press("Ask")
	b.sees(".step", "Count the orders")
	b.sees("[role=status]", "Find the cities")
	return c, b, letGo
}

// caughtUp sees the run come to its end, with nothing left out and nothing twice.
func (b *tab) caughtUp() {
	b.t.Helper()
	b.sees(".answer", "Four orders, in three cities.")
	b.is(`document.querySelector('article.turn').dataset.state === 'completed'`)
	if got := b.count(".step"); got != 2 {
		b.t.Errorf("%d steps", got)
	}
	b.bars(3)
	b.inOrder(".answer", ".steps > .reasoning", ".step", ".step[open] .chart", ".step[open] .query-part")
	if got := b.count("article.turn"); got != 1 {
		b.t.Errorf("%d turns", got)
	}
}

// TestPageServerGoesAway kills the server in the middle of a run, and starts it
// again.
func TestPageServerGoesAway(t *testing.T) {
	onlyFull(t)
	c, b, letGo := begun(t)
	kill(c.Process)
	b.sees("[role=status]", "Reconnecting")
	again(c.Process)
	b.sees("[role=status]", "Find the cities")
	letGo()
	b.caughtUp()
}

// TestPageRunEndsMeanwhile has the run end while the page cannot see it.
func TestPageRunEndsMeanwhile(t *testing.T) {
	onlyFull(t)
	c, b, letGo := begun(t)
	kill(c.Process)
	b.sees("[role=status]", "Reconnecting")
	elsewhere := e2etest.Serve(t, c.Dir, c.Env)
	letGo()
	run := get[string](b, `document.querySelector('article.turn').dataset.run`)
	e2etest.Eventually(t, func() bool {
		_, body := elsewhere.Call(c.Token, "GET", "/api/v1/query/runs/"+run, "")
		return strings.Contains(body, `"completed"`)
	})
	kill(elsewhere)
	again(c.Process)
	b.caughtUp()
}

// TestPageAsksServerThatIsAway sends the question once the server is there.
func TestPageAsksServerThatIsAway(t *testing.T) {
	onlyFull(t)
	model, letGo := halting(t)
	letGo()
	c, b := counter(t, model.Env()...)
	b.mayFail = true
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	kill(c.Process)
	b.press("Answer")
	b.write("#question", "How many orders, and where?")
	b.press("Ask")
	b.sees("[role=status]", "Reconnecting")
	again(c.Process)
	b.caughtUp()
}

// TestPageStops stops a run that is being worked on, asks its question again, and edits it.
func TestPageStops(t *testing.T) {
	onlyFull(t)
	_, b, letGo := begun(t)
	b.press("Stop")
	b.sees("[role=status]", "Stopped.")
	b.is(`document.querySelector('article.turn').dataset.state === 'canceled'`)
	b.sees(".step", "Count the orders")

	// Nothing else is asked while a run goes on.
	b.press("Try again")
	b.is(`document.querySelectorAll('article.turn').length === 2 && document.querySelector('.retry').disabled`)
	b.is(`document.activeElement.id === 'question'`)
	letGo()
	b.sees("article.turn:last-of-type .answer", "Four orders, in three cities.")

	edit := func() {
		t.Helper()
		b.do(chromedp.Focus(chromedp.CSS("article.turn:last-of-type [aria-label='Edit the question']")), chromedp.KeyEvent("\r"))
		b.is(`document.activeElement.matches('.edit-question textarea')`)
	}
	edit()
	b.do(chromedp.KeyEvent(" Not this."), chromedp.KeyEvent(kb.Escape))
	b.is(`document.activeElement.getAttribute('aria-label') === 'Edit the question'`)
	edit()
	b.do(chromedp.KeyEvent(" Please."), chromedp.KeyEvent("\r"))
	b.sees("article.turn:last-of-type .question", "How many orders, and where? Please.")
	b.is(`document.querySelectorAll('article.turn').length === 3 && document.activeElement.id === 'question'`)
	b.sees("article.turn:last-of-type .answer", "Four orders, in three cities.")
	if hash := get[string](b, `location.hash`); b.count(".conversations li") != 1 {
		t.Errorf("%s is not the only conversation", hash)
	}
}

// TestPageOpensRunThatGoesOn follows a run that was asked before the page was
// loaded.
func TestPageOpensRunThatGoesOn(t *testing.T) {
	onlyFull(t)
	c, b, letGo := begun(t)
	where := get[string](b, "location.href")
	other := browse(t, where)
	other.signIn(c.Token)
	other.sees("[role=status]", "Find the cities")
	letGo()
	other.caughtUp()
	b.caughtUp()
}

// TestPageSaysThatTheServerIsAway shows a banner while the server is away, and what was
// not read once it is back.
func TestPageSaysThatTheServerIsAway(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.mayFail = true
	b.signIn(c.Token)
	b.sees(".suggestions", "orders")
	kill(c.Process)
	b.press("Data")
	b.press("orders")
	b.sees(".away", "cannot be reached")
	b.press("Try now")
	b.sees(".away", "cannot be reached")
	again(c.Process)
	b.is(`!document.querySelector('.away') && !document.querySelector('.notices [role=alert]')`)
	b.sees(".rows-frame", "plum")
}

// TestPageOpensConversationOnceServerIsBack opens a conversation while the server is away.
func TestPageOpensConversationOnceServerIsBack(t *testing.T) {
	onlyFull(t)
	c, b := counter(t)
	b.mayFail = true
	b.signIn(c.Token)
	b.asks("assistant", "How many orders are there per city?")
	b.press("New question")
	b.sees("h1", "Ask about your data")
	kill(c.Process)
	b.press("How many orders are there per city?")
	b.sees(".away", "cannot be reached")
	b.sees(".waiting", "Opening the conversation")
	again(c.Process)
	b.sees(".answer", "Berlin")
}
