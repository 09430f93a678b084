package page

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// walk is what a new user does in the demo, from the link on its screen to what the user
// wanted. The page is alice's. Walks run at the same time: each has datasets in a namespace
// of its own and asks questions of its own.
type walk struct {
	name string
	take func(b *tab, alice, bob e2etest.Client)
}

// TestPageWalks takes the walks of new users through one demo.
func TestPageWalks(t *testing.T) {
	onlyFull(t)
	alice, bob := demoServer(t)
	for _, walk := range []walk{
		{"first question", walkFirstQuestion},
		{"refused", walkRefused},
		{"follow up", walkFollowUp},
		{"documents", walkDocuments},
		{"look at the data", walkData},
		{"upload", walkUpload},
		{"workbook", walkWorkbook},
		{"paste", walkPaste},
		{"share", walkShare},
		{"rate and return", walkRate},
		{"share an answer", walkShareAnswer},
		{"verify", walkVerify},
		{"pin", walkPin},
		{"delete", walkDelete},
		{"sign out and in", walkSignOut},
	} {
		t.Run(walk.name, func(t *testing.T) {
			t.Parallel()
			b := browse(t, alice.URL+"/#token="+alice.Token)
			b.is(`location.hash.startsWith('#/alice/')`)
			b.do(chromedp.Navigate(alice.URL + "/#/alice/shop")) // other walks make namespaces
			b.sees(".suggestions", "How many")
			walk.take(b, alice, bob)
			b.goesOn()
		})
	}
}

// goesOn sees that the page waits for nothing, complains of nothing, and offers to go on.
func (b *tab) goesOn() {
	b.t.Helper()
	b.is(`!document.querySelector('[aria-busy=true], .spinner')`)
	b.is(`![...document.querySelectorAll('[role=alert]')].some((e) => e.checkVisibility())`)
	b.is(`[...document.querySelectorAll('main :is(a, button, textarea):enabled, main a, dialog button:enabled')].some((e) => e.checkVisibility())`)
}

// answered waits for the end of the last turn, and sees that it has an answer.
func (b *tab) answered() {
	b.t.Helper()
	b.is(`[...document.querySelectorAll('article.turn')].at(-1)?.dataset.state === 'completed'`)
}

// suggestion presses the first suggestion of the last turn and waits for its answer.
func (b *tab) suggestion() {
	b.t.Helper()
	turns := b.count("article.turn")
	b.click(`(` + b.last("article.turn") + `//ul[contains(@class, "suggestions")]//button)[1]`)
	b.is(`document.querySelectorAll('article.turn').length === ` + e2etest.ToJSON(turns+1))
	b.answered()
}

func walkFirstQuestion(b *tab, _, _ e2etest.Client) {
	b.click(`(//ul[contains(@class, "suggestions")]//button)[1]`)
	b.answered()
	b.asks("assistant", "What is the total amount by category?")
	b.is(`document.querySelector('article.turn:last-of-type .chart svg .mark-rect path')`)
	b.sees("article.turn:last-of-type .answer", "highest")
	b.pressIn(b.last("article.turn"), "Table")
	b.sees("article.turn:last-of-type td", "Garden")
}

func walkRefused(b *tab, _, _ e2etest.Client) {
	b.asks("assistant", "Will it rain in Lisbon tomorrow?")
	b.is(`document.querySelectorAll('article.turn:last-of-type .suggestions button').length > 0`)
	b.suggestion()
	b.asks("nl2ql", "What is the total prize by category?")
	b.sees("article.turn:last-of-type .answer", "Did you mean “price”?")
	b.suggestion()
}

func walkFollowUp(b *tab, _, _ e2etest.Client) {
	b.asks("assistant", "How many orders are there per month?")
	b.is(`document.querySelector('article.turn:last-of-type .chart svg')`)
	b.asks("assistant", "only in 2025")
	b.answered()
	b.suggestion()
}

func walkDocuments(b *tab, _, _ e2etest.Client) {
	b.asks("assistant", "How much does express delivery cost?")
	b.sees(".answer", "9.90")
	b.asks("assistant", "How many customers are there for each country?")
	b.answered()
}

func walkData(b *tab, _, _ e2etest.Client) {
	b.press("Data")
	b.press("orders")
	b.sees(".pager", "Rows 1–100 of")
	b.press("amount")
	b.is(`document.querySelector('[aria-sort=ascending]')`)
	b.press("amount")
	b.is(`document.querySelector('[aria-sort=descending]')`)
	b.selects("Column", "amount")
	b.selects("Comparison", "is at least")
	b.write(".filter input", "200")
	b.press("Filter")
	b.is(`!document.querySelector('.pager').textContent.includes('of 1,')`)
	b.press("Columns")
	b.is(`document.querySelectorAll('.profiles .histogram rect').length > 3`)
	dir := b.downloads()
	b.press("Download")
	b.press("CSV")
	if lines := strings.Count(downloaded(b.t, dir, "orders.csv"), "\n"); lines < 100 {
		b.t.Errorf("the file has %d lines", lines)
	}
	b.press("New question")
	b.asks("nl2ql", "What is the average amount of orders?")
	b.answered()
}

func walkUpload(b *tab, _, _ e2etest.Client) {
	b.press("Add a file")
	b.choose(fileOf(b.t, "trips.csv", "city,day,cost\nOslo,2025-05-01,120.5\nPorto,2025-05-09,80\nOslo,2025-06-02,99.5\n"))
	b.sees("dialog .first-rows", "Porto")
	b.write("#namespace", "travel")
	b.imports()
	b.sees("dialog [role=status]", "travel/trips: 3 rows")
	b.press("Ask about it")
	b.is(`location.hash === '#/alice/travel'`)
	b.asks("assistant", "What is the total cost for each city?")
	b.bars(2)
	b.sees(".answer", "220")
}

func walkWorkbook(b *tab, _, _ e2etest.Client) {
	b.press("Add a file")
	b.choose(workbook(b.t, "library.xlsx", map[string][][]any{
		"Sheet1": {{"title", "pages"}, {"Emma", 474}, {"Dracula", 418}},
		"Loans":  {{"title", "reader"}, {"Emma", "Ana"}, {"Emma", "Ben"}, {"Dracula", "Ana"}},
	}))
	b.is(`document.querySelectorAll('.import-table').length === 2`)
	b.write("#namespace", "library")
	b.write(`[aria-label="Dataset for Sheet1"]`, "books")
	b.write(`[aria-label="Dataset for Loans"]`, "loans")
	b.press("Import 2 tables")
	b.sees("dialog [role=status]", "library/loans: 3 rows")
	b.sees("dialog [role=status]", "library/books: 2 rows")
	b.press("Ask about it")
	b.is(`location.hash === '#/alice/library'`)
	b.asks("assistant", "How many loans are there per reader?")
	b.sees(".answer", "Ana")
}

func walkPaste(b *tab, _, _ e2etest.Client) {
	b.press("Data")
	b.sees(".dataset", "orders")
	b.paste("main", "pet\tweight\nRex\t12.5\nTom\t4\n")
	b.sees("dialog .first-rows", "12.5")
	b.write("#namespace", "clinic")
	b.write("#dataset", "pets")
	b.imports()
	b.sees("dialog [role=status]", "clinic/pets: 2 rows")
	b.press("Show the data")
	b.sees(".rows-frame", "Rex")
	b.press("New question")
	b.asks("assistant", "Which pet has the highest weight?")
	b.sees(".answer", "Rex")
}

func walkShare(b *tab, alice, bob e2etest.Client) {
	b.drop("goals.csv", "team,goals\nred,3\nblue,5\n")
	b.sees("dialog .first-rows", "blue")
	b.write("#namespace", "league")
	b.imports()
	b.press("Show the data")
	b.sees(".rows-frame", "blue")
	b.press("Share")
	b.sees(".shares", "Nobody else")
	b.write("#share-user", "bob")
	b.pressIn(`//form`, "Share") // the shop is shared with bob: he is known
	b.sees(".shares .share-name", "bob")
	b.closes()

	other := browse(b.t, alice.URL)
	other.signIn(bob.Token)
	other.is(`location.hash.startsWith('#/')`)
	other.selects("Namespace", "alice/league")
	other.is(`location.hash === '#/alice/league'`)
	other.asks("assistant", "Which team has the most goals?")
	other.sees(".answer", "blue")
	other.press("Data")
	other.sees(".data", "alice shares this with you")
	other.goesOn()
}

func walkRate(b *tab, _, _ e2etest.Client) {
	const question = "Which city has the most customers?"
	b.asks("assistant", question)
	b.press("Good answer")
	b.sees(".feedback", "Thank you")
	b.write(".feedback form input", "as I thought")
	b.press("Send")
	b.sees(".feedback", "Rated: “as I thought”")
	b.press("Data")
	b.sees(".dataset", "orders")
	b.do(chromedp.Reload())
	b.press(question)
	b.sees(".feedback", "Rated: “as I thought”")
	b.sees(".answer", "Berlin")
}

func walkShareAnswer(b *tab, _, bob e2etest.Client) {
	const question = "What is the average amount of orders for each channel?"
	b.asks("assistant", question)
	b.answered()
	b.press("Share this answer")
	b.press("Make a link")
	b.sees("dialog [role=status]", "The link is made")
	link := get[string](b, `document.querySelector('dialog input').value`)
	answer := get[string](b, `document.querySelector('.answer').textContent`)
	b.closes()

	other := browse(b.t, link)
	other.signIn(bob.Token)
	other.sees(".shared .question", question)
	other.sees(".shared .answer", answer)
	other.is(`document.querySelector('.shared .chart svg .mark-rect path')`)
	other.press("New question") // and asks it
	other.is(`location.hash === '#/alice/shop'`)
	other.asks("assistant", question)
	other.answered()
	other.goesOn()
}

func walkVerify(b *tab, _, _ e2etest.Client) {
	b.asks("assistant", "How many products are there for each category?")
	b.answered()
	b.press("Save as verified")
	b.is(`document.querySelector('[aria-label="Remove from verified"]')`)
	b.press("New question")
	b.asks("assistant", "how many products are there for each category")
	b.answered()
	b.sees(".badge", "Verified")
	b.is(`document.querySelector('.chart svg .mark-rect path')`)
}

func walkPin(b *tab, _, _ e2etest.Client) {
	const question = "How many orders are there for each status?"
	b.asks("assistant", question)
	b.answered()
	b.press("Pin to the board")
	b.is(`document.querySelector('[aria-label="Remove from the board"]')`)
	b.press("Board")
	b.is(`location.hash === '#/alice/shop/board'`)
	b.sees(".pins h2", question)
	b.is(`document.querySelector('.pins .chart svg .mark-rect path')`)
	b.do(chromedp.Reload())
	b.sees(".pins h2", question)
	b.is(`document.querySelector('.pins .chart svg .mark-rect path')`)
}

func walkDelete(b *tab, alice, _ e2etest.Client) {
	b.drop("errands.csv", "errand,minutes\nbank,20\npost,15\n")
	b.sees("dialog .first-rows", "bank")
	b.write("#namespace", "errands")
	b.imports()
	b.press("Ask about it")
	b.is(`location.hash === '#/alice/errands'`)
	b.asks("nl2ql", "How many errands are there?")
	b.press("Delete “How many errands are there?”")
	b.pressIn("//dialog", "Delete")
	b.is(`document.querySelectorAll('.conversations li').length === 0`)
	b.press("Data")
	b.press("errands")
	b.sees(".rows-frame", "bank")
	b.press("Delete")
	b.pressIn("//dialog", "Delete")
	b.is(`location.hash === '#/alice/errands/data' && document.querySelectorAll('.dataset').length === 0`)
	b.sees(".data", "Nothing here yet")
	b.press("Delete")
	b.sees("dialog h2", "Delete errands?")
	b.pressIn("//dialog", "Delete")
	b.is(`!document.querySelector('dialog') && !location.hash.startsWith('#/alice/errands')`)
	b.is(`![...document.querySelectorAll('.namespace option')].some((each) => each.textContent === 'errands')`)
	b.is(`document.activeElement !== document.body`)
	b.press("Sign out")
	b.signIn(alice.Token) // and gets to where there is something to ask
	b.sees(".suggestions", "How many")
}

func walkSignOut(b *tab, alice, bob e2etest.Client) {
	b.asks("assistant", "What is the average price of products for each category?")
	b.press("Sign out")
	b.sees("h1", "Ask about your data")
	b.signIn(bob.Token)
	b.sees(".sidebar-user", "bob")
	b.is(`!document.querySelector('.conversations').textContent.includes('average price of products')`)
	b.press("Sign out")
	b.signIn(alice.Token)
	b.is(`location.hash.startsWith('#/alice/')`)
	b.selects("Namespace", "shop")
	b.press("What is the average price of products for each category?")
	b.is(`document.querySelector('article.turn[data-state=completed] .chart svg')`)
}
