package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/cors"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// fileOf writes a file to be chosen in the page.
func fileOf(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// choose puts a file into the dialog that is open.
func (b *tab) choose(path string) {
	b.t.Helper()
	b.do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	b.sees("dialog", filepath.Base(path))
}

// drop lets a file fall on the page.
func (b *tab) drop(name, content string) {
	b.t.Helper()
	b.is(fmt.Sprintf(`(() => {
		const dataTransfer = new DataTransfer();
		dataTransfer.items.add(new File([%s], %s));
		for (const type of ['dragover', 'drop']) document.body.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
		return true;
	})()`, e2etest.ToJSON(content), e2etest.ToJSON(name)))
	b.sees("dialog", name)
}

// imports waits for the preview in the dialog that is open, and imports what it shows.
func (b *tab) imports() {
	b.t.Helper()
	b.is(`document.querySelector('dialog .first-rows')`)
	b.click(`//dialog//footer/button[starts-with(normalize-space(.), "Import ")]`)
}

// TestPageUploads begins with nothing but a file, and asks of it.
func TestPageUploads(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	b := browse(t, p.URL)
	b.signIn(p.Token("alice"))
	b.sees("h1", "Begin with a file")
	b.press("Choose a file")
	b.choose(fileOf(t, "Pet Visits.csv", "pet,weight,day\nRex,12.5,2025-01-02\nTom,4,2025-01-03\nRex,13,2025-02-01\n"))
	b.is(`document.querySelector('#dataset').value === 'Pet_Visits'`)
	b.write("#dataset", "visits")
	b.write("#namespace", "clinic")
	b.sees("dialog .first-rows", "12.5")
	b.imports()
	b.sees("dialog", "clinic/visits: 3 rows")
	b.sees("dialog .columns-table", "weight")
	b.sees("dialog .columns-table", "date")
	b.press("Ask about it")
	b.is(`location.hash === '#/alice/clinic'`)
	b.asks("assistant", "What is the average weight for each pet?")
	b.bars(2)
	b.is(`document.querySelector('.chart .mark-rect.role-mark path[aria-label*="12.75"]')`)

	// More rows for the same dataset, and a file that cannot be read.
	b.drop("visits.csv", "pet,weight,day\nMia,3,2025-03-01\n")
	b.sees("dialog .mode", "clinic/visits has 3 rows. What should happen to them?")
	b.click(`//input[@name="mode" and @value="append"]`)
	b.imports()
	b.sees("dialog", "clinic/visits: now 4 rows (was 3)")
	b.closes()
	b.press("Data")
	b.sees(".dataset", "4 rows")
	b.click(`//*[contains(concat(" ", @class, " "), " data ")]/header//*[contains(concat(" ", @class, " "), " primary ")]`)
	b.mayFail = true // the preview of it does
	b.choose(fileOf(t, "broken.json", `[{"a": 1}, {"a": `))
	b.sees("dialog [role=alert]", "row 2")
	b.closes()

	b.is(`document.querySelectorAll('.dataset').length === 1`) // a file that cannot be read makes none

	b.press("Delete visits")
	b.sees("dialog", "will be gone, for everybody")
	b.press("Delete")
	b.is(`![...document.querySelectorAll('.dataset')].some((e) => e.dataset.dataset === 'visits')`)
}

// TestPageUploadsParts sends a file of several parts, to the server or to a
// bucket, and shows how far it is.
func TestPageUploadsParts(t *testing.T) {
	onlyFull(t)
	var rows strings.Builder
	rows.WriteString("n,filler\n")
	filler := strings.Repeat("x", 1000)
	for i := range 12000 { // two parts
		fmt.Fprintf(&rows, "%d,%s\n", i, filler)
	}
	path := fileOf(t, "big.csv", rows.String())
	test := func(t *testing.T, p *e2etest.Process, others ...string) {
		b := browse(t, p.URL, others...)
		b.signIn(p.Token("alice"))
		b.press("Choose a file")
		const note = `const bar = document.querySelector('dialog progress[max]'); if (bar) (window.seen ??= new Set()).add(bar.value);`
		b.is(`(new MutationObserver(() => { ` + note + ` }).observe(document.body, { subtree: true, attributes: true, childList: true }), true)`)
		b.choose(path)
		b.imports()
		b.sees("dialog", "main/big: 12,000 rows")
		if seen := get[int](b, `window.seen?.size ?? 0`); seen < 2 {
			t.Errorf("the progress stood at %d values", seen)
		}
	}
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, e2etest.Serve(t, t.TempDir(), nil))
	})
	t.Run("trouble", func(t *testing.T) {
		t.Parallel()
		p := e2etest.Serve(t, t.TempDir(), nil)
		b := browse(t, p.URL)
		b.mayFail = true
		b.is(trouble)
		b.signIn(p.Token("alice"))
		b.press("Choose a file")
		b.choose(path)
		b.imports()
		b.sees("dialog", "main/big: 12,000 rows")
		b.closes()
		b.press("Data")
		b.sees(".dataset", "12,000 rows")
		if got := get[string](b, `[...window.troubles].join(' ')`); got != "" {
			t.Errorf("no trouble with %s", got)
		}
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		endpoint, access, secret := s3test.Server(t)
		bucket := s3test.Bucket(t)
		p := e2etest.Serve(t, t.TempDir(), []string{
			"PARLEY_OBJECTS=s3://" + bucket + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
			"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
		})
		letIn(t, endpoint, access, secret, bucket, p.URL)
		test(t, p, endpoint)
	})
}

// trouble has the first address of a part be one that is good no more, and the first
// answers to what follows be lost.
const trouble = `(() => {
	const troubles = window.troubles = new Set(['PUT', 'new', 'prepare', 'parts', 'finish', 'preview', 'ingest', 'attempts']);
	const { open } = XMLHttpRequest.prototype;
	XMLHttpRequest.prototype.open = function (method, url) { open.call(this, method, troubles.delete(method) ? url + '0' : url); };
	const { fetch } = window;
	window.fetch = async (address, init) => {
		const answer = await fetch(address, init);
		const path = new URL(address).pathname.replace('/new/main/big', '/new').split('/').at(-1);
		if (troubles.delete(path)) throw new TypeError('lost');
		return answer;
	};
	return true;
})()`

// letIn has a bucket take parts from an origin's pages.
func letIn(t *testing.T, endpoint, access, secret, bucket, origin string) {
	t.Helper()
	c, err := minio.New(strings.TrimPrefix(endpoint, "http://"), &minio.Options{Creds: credentials.NewStaticV4(access, secret, ""), Region: s3test.Region})
	if err != nil {
		t.Fatal(err)
	}
	rule := cors.Rule{AllowedOrigin: []string{origin}, AllowedMethod: []string{"PUT"}, AllowedHeader: []string{"*"}, ExposeHeader: []string{"ETag"}}
	if err := c.SetBucketCors(t.Context(), bucket, cors.NewConfig([]cors.Rule{rule})); err != nil {
		t.Fatal(err)
	}
}

// TestPageShares shares a namespace and a dataset with a second user, who sees
// them until they are taken back.
func TestPageShares(t *testing.T) {
	onlyFull(t)
	c, alice := counter(t)
	if status := c.Ask("POST", "/ingest/vault/secrets", e2etest.Object{"data": []e2etest.Object{{"code": "x"}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	alice.signIn(c.Token)
	bob := browse(t, c.URL)
	bob.signIn(c.Process.Token("bob"))
	bob.sees("h1", "Begin with a file")

	alice.do(chromedp.Navigate(c.URL + "/#/alice/shop/data"))
	alice.sees(".dataset", "4 rows")
	alice.press("Share")
	alice.sees(".shares", "Nobody else")
	alice.write("#share-user", "bob")
	alice.pressIn(`//form`, "Share")
	alice.sees("dialog [role=alert]", "You have not shared anything with bob before")
	alice.press("Share anyway")
	alice.sees(".shares", "bob")
	alice.closes()

	bob.do(chromedp.Reload())
	bob.sees(".namespace", "alice/shop")
	bob.asks("nl2ql", "How many orders are there in Berlin?")
	bob.sees(":is(td.number, .figure)", "2")
	bob.press("Data")
	bob.sees(".data", "alice shares this with you")
	bob.sees(".dataset", "4 rows")
	if bob.count(".data [aria-label^=Share], .data [aria-label^=Delete], .data [aria-label^=Describe], .data [aria-label^=Add]") > 0 {
		t.Error("a reader is offered what is refused")
	}

	alice.press("Share")
	alice.sees(".shares", "bob")
	alice.is(`(() => { const select = document.querySelector('.shares select'); select.value = 'editor'; select.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`)
	alice.is(`document.querySelector('.shares select')?.value === 'editor'`)
	e2etest.Eventually(t, func() bool {
		_, body := c.Call(c.Token, "GET", "/api/v1/permissions/namespaces/self/shop/shares", "")
		return strings.Contains(body, "editor")
	})
	bob.do(chromedp.Reload())
	bob.press("Describe orders")
	bob.write("#display-name", "Purchases")
	bob.write("#description", "What was sold")
	bob.press("Save")
	bob.sees(".dataset .hint", "Purchases · ")
	bob.sees(".dataset", "What was sold")

	alice.closes()
	alice.press("Share orders")
	alice.sees(".shares", "bob can edit it because the namespace is shared")
	alice.closes()
	alice.press("Share")
	alice.press("Stop sharing with bob")
	alice.sees(".shares", "Nobody else")
	alice.closes()
	bob.do(chromedp.Navigate(c.URL+"/"), chromedp.Reload())
	bob.sees("h1", "Begin with a file")

	// One dataset alone.
	alice.do(chromedp.Navigate(c.URL + "/#/alice/vault/data"))
	alice.press("Share secrets")
	alice.sees(".shares", "Nobody else")
	alice.write("#share-user", "bob")
	alice.pressIn(`//form`, "Share")
	alice.press("Share anyway")
	alice.sees(".shares", "bob")
	bob.do(chromedp.Reload())
	bob.sees(".namespace", "alice/vault")
}

// TestPageRowRules limits the rows that a user sees.
func TestPageRowRules(t *testing.T) {
	onlyFull(t)
	c, alice := counter(t)
	c.Ask("POST", "/permissions/namespaces/alice/shop/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil)
	alice.signIn(c.Token)
	alice.do(chromedp.Navigate(c.URL + "/#/alice/shop/data"))
	alice.press("Share orders")
	alice.press("Rows")
	alice.sees(".row-rules", "Everybody here sees all rows")
	alice.write(`[aria-label="Who sees some rows only"]`, "bob")
	alice.write(`[aria-label="Condition of the rows"]`, "nowhere = 1")
	alice.mayFail = true // 422
	alice.press("Limit")
	alice.sees(".row-rules [role=alert]", "nowhere")
	alice.is(`document.querySelector('[aria-label="Condition of the rows"]').select() === undefined`)
	alice.write(`[aria-label="Condition of the rows"]`, "city = 'Berlin'")
	alice.press("Limit")
	alice.sees(".row-rules [role=status]", "bob sees 2 of 4 rows.")
	alice.sees(".row-rules li", "city = 'Berlin'")
	alice.sees(".row-rules", "Users without a rule see no rows")
	bob := browse(t, c.URL)
	bob.signIn(c.Process.Token("bob"))
	bob.asks("nl2ql", "How many orders are there?")
	bob.sees(":is(td.number, .figure)", "2")
	alice.press("Remove the rule for bob")
	alice.sees(".row-rules", "Everybody here sees all rows")
}
