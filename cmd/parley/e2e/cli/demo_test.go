package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// A file in a demo's data folder tells it from others, and says how far the sample
// data has come.
const (
	demoMark    = "sample"
	sampleBegun = "begun\n"
	sampleThere = "loaded\n"
)

// demo is a running `parley demo`, and what it shows.
type demo struct {
	*e2etest.Process
	// What can be copied from the screen, and its last line.
	page, exports, ask, rest, a2a, bob, last string
}

func startDemo(t *testing.T, dir string, env []string, args ...string) *demo {
	t.Helper()
	d := &demo{Process: e2etest.Start(t, dir, append([]string{"TMPDIR=" + t.TempDir()}, env...), append([]string{"demo"}, args...)...)}
	e2etest.Eventually(t, func() bool { return strings.Contains(d.More.String(), "Ctrl-C ends") })
	paragraphs := strings.Split(strings.TrimSpace(d.More.String()), "\n\n")
	d.last = paragraphs[len(paragraphs)-1]
	blocks := slices.DeleteFunc(paragraphs, func(p string) bool { return !strings.HasPrefix(p, "  ") })
	if len(blocks) != 6 {
		t.Fatalf("the screen is\n%s", &d.More)
	}
	d.page, d.exports, d.ask, d.rest, d.a2a, d.bob = blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5]
	return d
}

// tokenIn is the token in an address that signs in.
func (d *demo) tokenIn(block string) string {
	d.T.Helper()
	found := regexp.MustCompile(`^  ` + regexp.QuoteMeta(d.URL) + `/#token=(\S+)`).FindStringSubmatch(block)
	if found == nil {
		d.T.Fatalf("no token in %q", block)
	}
	return found[1]
}

// paste runs what is pasted into a shell of its own.
func (d *demo) paste(blocks ...string) string {
	d.T.Helper()
	shell := exec.CommandContext(d.T.Context(), "bash", "-euo", "pipefail", "-c", strings.Join(blocks, "\n"))
	output, err := shell.CombinedOutput()
	if err != nil {
		d.T.Fatalf("%s: %v\n%s", blocks[len(blocks)-1], err, output)
	}
	return string(output)
}

// TestDemo pastes what the screen offers, as a newcomer would.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"TMPDIR=" + dir, "PARLEY_DATA=" + filepath.Join(dir, "real"), "PARLEY_LISTEN=192.0.2.1:80",
		"PARLEY_DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "PARLEY_AUTH_SECRET=short"}
	d := startDemo(t, dir, env, "--listen", "127.0.0.1:0")
	ready := time.Now()
	answer := d.paste(d.exports, d.rest)
	t.Logf("the first answer came %v after the screen", time.Since(ready))

	var said struct{ Steps []demoStep }
	if err := json.Unmarshal([]byte(answer), &said); err != nil || len(said.Steps) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	sameRows(t, "the pasted question", said.Steps[0].Data, amountByCategory())
	stream := d.paste(d.exports, d.a2a)
	for _, want := range []string{`"task":{`, "Express delivery on the next working day", "12 euros", `"state":"TASK_STATE_COMPLETED"`} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream lacks %s:\n%s", want, stream)
		}
	}
	if !strings.HasPrefix(d.ask, "  "+e2etest.Program(t)+" ask --namespace shop \"") {
		t.Errorf("the command line is %q", d.ask)
	}
	var shared []struct{ Name, Owner string }
	_, list := d.Call(d.tokenIn(d.bob), "GET", "/api/v1/schema/self/namespaces", "")
	if err := json.Unmarshal([]byte(list), &shared); err != nil || len(shared) != 2 {
		t.Errorf("bob sees %s, %v", list, err)
	}
	counted := d.question(d.tokenIn(d.bob), "alice", "shop", "How many orders are there?")
	sameRows(t, "bob's question", counted, [][]any{{len(sampleOrders())}})
	if status, text := d.Call(d.tokenIn(d.bob), "POST", "/api/v1/data/alice/shop/orders/clear", ""); status != 403 {
		t.Errorf("bob, who may look, clears alice's orders: %d %s", status, text)
	}
	sameRows(t, "alice's question", d.question(d.tokenIn(d.page), "self", "shop", "How many orders are there?"), [][]any{{len(sampleOrders())}})
	d.ends(syscall.SIGHUP) // the terminal is closed
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if !strings.Contains(d.last, "removes the data, which is in "+dir) || !strings.Contains(d.More.String(), "\nRemoved "+dir) || d.Log.String() != "" {
		t.Errorf("it said %q and logged %q", d.last, d.Log)
	}
}

// ends stops the demo.
func (d *demo) ends(s syscall.Signal) {
	d.T.Helper()
	d.Signal(s)
	if code := d.Wait(); code != e2etest.ExitOK {
		d.T.Fatalf("it ended with %d:\n%s", code, d.Log)
	}
}

// demoStep is a step of an answer.
type demoStep struct{ Data []map[string]any }

// question asks the assistant and gives the rows of its only step.
func (d *demo) question(token, owner, namespace, question string) []map[string]any {
	d.T.Helper()
	body, err := json.Marshal(map[string]string{"username": owner, "namespace": namespace, "query": question})
	if err != nil {
		d.T.Fatal(err)
	}
	status, text := d.Call(token, "POST", "/api/v1/query/autorag", string(body))
	var said struct{ Steps []demoStep }
	if err := json.Unmarshal([]byte(text), &said); status != 200 || err != nil || len(said.Steps) != 1 {
		d.T.Fatalf("%s: %d %v %s", question, status, err, text)
	}
	return said.Steps[0].Data
}

// sameRows compares rows in any order, and their values in any order.
func sameRows(t *testing.T, what string, got []map[string]any, want [][]any) {
	t.Helper()
	line := func(values []any) string {
		var texts []string
		for _, v := range values {
			texts = append(texts, fmt.Sprint(v))
		}
		slices.Sort(texts)
		return strings.Join(texts, " | ")
	}
	var gotLines, wantLines []string
	for _, row := range got {
		var values []any
		for name, v := range row {
			if !strings.HasPrefix(name, "__") {
				values = append(values, v)
			}
		}
		gotLines = append(gotLines, line(values))
	}
	for _, row := range want {
		wantLines = append(wantLines, line(row))
	}
	slices.Sort(gotLines)
	slices.Sort(wantLines)
	if !slices.Equal(gotLines, wantLines) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(gotLines, "\n  "), strings.Join(wantLines, "\n  "))
	}
}

// demoOrder is an order with who bought what.
type demoOrder struct {
	sampleOrder
	buyer   sampleCustomer
	product sampleProduct
}

func demoOrders() []demoOrder {
	customers, products := map[int]sampleCustomer{}, map[int]sampleProduct{}
	for _, c := range sampleCustomers() {
		customers[c.ID] = c
	}
	for _, p := range sampleProducts() {
		products[p.ID] = p
	}
	var all []demoOrder
	for _, o := range sampleOrders() {
		all = append(all, demoOrder{o, customers[o.CustomerID], products[o.ProductID]})
	}
	return all
}

// tally adds up a figure of orders for each key; orders without one are left out.
func tally(key func(demoOrder) string, figure func(demoOrder) float64) [][]any {
	sums := map[string]float64{}
	for _, o := range demoOrders() {
		if k := key(o); k != "" {
			sums[k] += figure(o)
		}
	}
	var rows [][]any
	for k, sum := range sums {
		rows = append(rows, []any{k, sum})
	}
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(-cmp.Compare(a[1].(float64), b[1].(float64)), strings.Compare(a[0].(string), b[0].(string)))
	})
	return rows
}

func one(demoOrder) float64 { return 1 }

func amount(o demoOrder) float64 { return o.Amount }

func amountByCategory() [][]any {
	return tally(func(o demoOrder) string { return o.product.Category }, amount)
}

// TestDemoAgain starts twice on a folder: what was changed stays, and what is
// there is not loaded again.
func TestDemoAgain(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	dir := t.TempDir()
	d := startDemo(t, dir, nil, "--listen", "127.0.0.1:0", "--data", "kept")
	alice := d.tokenIn(d.page)
	for _, change := range [][3]string{
		{"DELETE", "/api/v1/data/self/shop/products", ""},
		{"POST", "/api/v1/ingest/shop/orders", `{"data": [{"order_id": 99999, "amount": 1}]}`},
		{"PUT", "/api/v1/data/self/shop/customers/inferDefinition", `{"dataDescription": "Ours."}`},
		{"DELETE", "/api/v1/permissions/namespaces/self/shop/shares", `{"username": "bob", "role": "viewer"}`},
	} {
		if status, text := d.Call(alice, change[0], change[1], change[2]); status/100 != 2 {
			t.Fatalf("%v: %d %s", change, status, text)
		}
	}
	d.ends(syscall.SIGTERM)
	if !strings.Contains(d.last, "leaves the data in kept") || !strings.Contains(d.More.String(), "\nThe data is kept in kept.\n") {
		t.Errorf("it said %q", &d.More)
	}

	d = startDemo(t, dir, nil, "--listen", "127.0.0.1:0", "--data", "kept")
	sameRows(t, "orders", d.question(alice, "self", "shop", "How many orders are there?"), [][]any{{len(sampleOrders()) + 1}})
	if status, text := d.Call(alice, "GET", "/api/v1/data/self/shop/products", ""); status != 404 {
		t.Errorf("what was deleted is there again: %d %s", status, text)
	}
	if _, text := d.Call(alice, "GET", "/api/v1/data/self/shop/customers", ""); !strings.Contains(text, `"Ours."`) {
		t.Errorf("what was described is described anew: %s", text)
	}
	if status, text := d.Call(d.tokenIn(d.bob), "GET", "/api/v1/data/alice/shop/orders", ""); status != 404 {
		t.Errorf("what was taken from bob is shared again: %d %s", status, text)
	}
	got := e2etest.RunCommand(t, dir, nil, "demo", "--listen", "127.0.0.1:0", "--data", "kept")
	if got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "in use by another parley") {
		t.Errorf("a second demo on the folder: %+v", got)
	}
}

// TestDemoInterrupted loads the sample anew where that was not done to its end.
func TestDemoInterrupted(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	dir := t.TempDir()
	startDemo(t, dir, nil, "--listen", "127.0.0.1:0", "--data", "kept").ends(syscall.SIGINT)
	if err := os.WriteFile(filepath.Join(dir, "kept", demoMark), []byte(sampleBegun), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDemo(t, dir, nil, "--listen", "127.0.0.1:0", "--data", "kept")
	sameRows(t, "orders", d.question(d.tokenIn(d.page), "self", "shop", "How many orders are there?"), [][]any{{len(sampleOrders())}})
	if status, text := d.Call(d.tokenIn(d.bob), "GET", "/api/v1/data/alice/shop/orders", ""); status != 200 {
		t.Errorf("bob does not see the shop: %d %s", status, text)
	}
}

// TestDemoElsewhere leaves folders alone that are no demo's.
func TestDemoElsewhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2etest.Serve(t, dir, nil)
	p.Signal(syscall.SIGTERM)
	p.Wait()
	before, err := os.ReadDir(filepath.Join(dir, "parley-data"))
	if err != nil {
		t.Fatal(err)
	}
	got := e2etest.RunCommand(t, dir, nil, "demo", "--data", "parley-data")
	if got.Code != e2etest.ExitFailed || got.Stdout != "" || !strings.Contains(got.Stderr, "parley-data holds other data") {
		t.Errorf("%+v", got)
	}
	if after, err := os.ReadDir(filepath.Join(dir, "parley-data")); err != nil || len(after) != len(before) {
		t.Errorf("the folder has %v, %v", after, err)
	}
	for _, said := range []string{"", "tea\n", sampleBegun + sampleThere} {
		if err := os.WriteFile(filepath.Join(dir, "parley-data", demoMark), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := e2etest.RunCommand(t, dir, nil, "demo", "--data", "parley-data"); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "parley-data holds other data") {
			t.Errorf("with the mark %q: %+v", said, got)
		}
	}
	if got := e2etest.RunCommand(t, dir, nil, "demo", "--data", filepath.Join("parley-data", demoMark)); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "is a file; give a folder") {
		t.Errorf("on a file: %+v", got)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if got := e2etest.RunCommand(t, dir, nil, "demo", "--listen", taken.Addr().String()); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "choose another port, or leave out --listen") {
		t.Errorf("on a port that is taken: %+v", got)
	}
	if got := e2etest.RunCommand(t, dir, nil, "demo", "--listen", "nowhere", "--log-level", "loud"); got.Code != e2etest.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, "--listen") || !strings.Contains(got.Stderr, "--log-level") {
		t.Errorf("%+v", got)
	}
}

// TestDemoPort takes a free port when the usual one is taken, and only then.
func TestDemoPort(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	var usual net.Listener
	for range 200 { // another demo may have it for now
		if listener, err := net.Listen("tcp", "127.0.0.1:8080"); err == nil {
			t.Cleanup(func() { _ = listener.Close() })
			usual = listener
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	d := startDemo(t, t.TempDir(), nil)
	if usual != nil && strings.HasSuffix(d.URL, ":8080") {
		t.Errorf("it is at %s", d.URL)
	}
	sameRows(t, "there", d.question(d.tokenIn(d.page), "self", "shop", "How many products are there?"), [][]any{{len(sampleProducts())}})
	taken := strings.TrimPrefix(d.URL, "http://")
	if got := e2etest.RunCommand(t, t.TempDir(), nil, "demo", "--listen", taken); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "listen:") {
		t.Errorf("a port that was asked for is taken: %+v", got)
	}
}
