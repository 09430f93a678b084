package main

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// halting is a model that says nothing from its second query on, until it is let
// go.
func halting(t *testing.T) (model *standinModel, letGo func()) {
	t.Helper()
	gate := make(chan struct{})
	letGo = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(letGo)
	model = newProvider(t, "ollama", nil)
	lines := map[string]string{
		planJob:   plans("", "In two steps.", "Count the orders", "Find the cities").says,
		answerJob: "**Four** orders, in three cities. [step 1] [step 2]",
	}
	model.does(func(w http.ResponseWriter, r *http.Request, q prompt) {
		switch {
		case q.job != queryJob:
			model.say(w, q, lines[q.job])
		case !strings.Contains(q.text, "Find the cities"):
			model.say(w, q, queries("", "", "SELECT count(*) AS n FROM orders").says)
		default:
			select {
			case <-gate:
				model.say(w, q, queries("", "", "SELECT city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1").says)
			case <-r.Context().Done():
			}
		}
	})
	return model, letGo
}

// again starts the program once more where another one was killed: in its folder,
// at its address.
func (p *process) again() *process {
	p.t.Helper()
	return serve(p.t, p.dir, p.env, "--listen", strings.TrimPrefix(p.url, "http://"))
}

func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wait()
}

// begun has a page ask what the model halts at.
func begun(t *testing.T) (client, *tab, func()) {
	t.Helper()
	model, letGo := halting(t)
	c, b := counter(t, model.env()...)
	b.mayFail = true
	b.signIn(c.token)
	b.press("assistant")
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
	b.is(`document.querySelectorAll('.chart .bar').length === 3`)
	if got := b.count("article.turn"); got != 1 {
		b.t.Errorf("%d turns", got)
	}
}

// TestPageServerGoesAway kills the server in the middle of a run, and starts it
// again.
func TestPageServerGoesAway(t *testing.T) {
	t.Parallel()
	c, b, letGo := begun(t)
	c.kill()
	b.sees("[role=status]", "Reconnecting")
	c.process.again()
	b.sees("[role=status]", "Find the cities")
	letGo()
	b.caughtUp()
}

// TestPageRunEndsMeanwhile has the run end while the page cannot see it.
func TestPageRunEndsMeanwhile(t *testing.T) {
	t.Parallel()
	c, b, letGo := begun(t)
	c.kill()
	b.sees("[role=status]", "Reconnecting")
	elsewhere := serve(t, c.dir, c.env)
	letGo()
	run := get[string](b, `document.querySelector('article.turn').dataset.run`)
	eventually(t, func() bool {
		_, body := elsewhere.call(c.token, "GET", "/api/v1/query/runs/"+run, "")
		return strings.Contains(body, `"completed"`)
	})
	elsewhere.kill()
	c.process.again()
	b.caughtUp()
}

// TestPageAsksServerThatIsAway sends the question once the server is there.
func TestPageAsksServerThatIsAway(t *testing.T) {
	t.Parallel()
	model, letGo := halting(t)
	letGo()
	c, b := counter(t, model.env()...)
	b.mayFail = true
	b.signIn(c.token)
	b.sees(".suggestions", "orders")
	c.kill()
	b.press("assistant")
	b.write("#question", "How many orders, and where?")
	b.press("Ask")
	b.sees("[role=status]", "Reconnecting")
	c.process.again()
	b.caughtUp()
}

// TestPageCancels ends a run that is being worked on.
func TestPageCancels(t *testing.T) {
	t.Parallel()
	_, b, _ := begun(t)
	b.press("Cancel")
	b.sees("[role=status]", "Canceled.")
	b.is(`document.querySelector('article.turn').dataset.state === 'canceled'`)
	b.sees(".step", "Count the orders")
}

// TestPageOpensRunThatGoesOn follows a run that was asked before the page was
// loaded.
func TestPageOpensRunThatGoesOn(t *testing.T) {
	t.Parallel()
	c, b, letGo := begun(t)
	where := get[string](b, "location.href")
	other := browse(t, where)
	other.signIn(c.token)
	other.sees("[role=status]", "Find the cities")
	letGo()
	other.caughtUp()
	b.caughtUp()
}
