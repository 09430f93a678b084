package server

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// receiptCheck is what a receipt gives now.
type receiptCheck struct {
	Signed, Same bool
	Problem      string
	Steps        []struct{ Reason string }
}

// TestReceipt verifies the receipts of both agents: as they are, changed, over changed data, by a user
// who sees other rows, by one who sees none, and by another server.
func TestReceipt(t *testing.T) {
	t.Parallel()
	c, other := e2etest.Shop(t), e2etest.Shop(t)
	share := func(role string) {
		if status := c.Ask("POST", "/permissions/datasets/alice/shop/orders/shares", e2etest.Object{"username": "bob", "role": role}, nil); status != http.StatusOK {
			t.Fatalf("share: %d", status)
		}
	}
	share("viewer")
	bob := e2etest.Client{Process: c.Process, Token: c.Process.Token("bob")}
	if status := c.Ask("POST", "/verified/alice/shop", e2etest.Object{"question": "How many orders are there?", "query": "SELECT count(*) AS n FROM orders"}, nil); status != http.StatusCreated {
		t.Fatalf("verify: %d", status)
	}
	file := filepath.Join(t.TempDir(), "receipt.json")
	verify := func(server e2etest.Client, flags ...string) e2etest.Result {
		return e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_SERVER=" + server.URL, "PARLEY_TOKEN=" + server.Token}, append([]string{"verify", file}, flags...)...)
	}
	want := func(what string, got e2etest.Result, code int, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(got.Stdout+got.Stderr, word) || got.Code != code {
				t.Errorf("%s: no %q, or %d\n%s%s", what, word, got.Code, got.Stdout, got.Stderr)
			}
		}
	}
	for agent, question := range map[string]string{"nl2ql": "How many orders are there?", "assistant": "What is the average price per city?"} {
		var answer struct{ RunID string }
		c.Ask("POST", "/query/autorag", e2etest.Object{"username": "alice", "namespace": "shop", "query": question, "agent": agent}, &answer)
		printed := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}, "receipt", answer.RunID)
		if err := os.WriteFile(file, []byte(printed.Stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if agent == "nl2ql" && !strings.Contains(printed.Stdout, `"verifiedBy": "alice"`) {
			t.Errorf("nobody has verified %s", printed.Stdout)
		}
		want("as it is", verify(c), e2etest.ExitOK, "signed by "+c.URL, "the same")
		want("by bob", verify(bob), e2etest.ExitOK, "the same")
		want("at another server", verify(other), e2etest.ExitOK, "signed by "+c.URL, "not run again")

		changed := strings.Replace(printed.Stdout, question, "How many are there?", 1)
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		want("changed", verify(c), e2etest.ExitFailed, "not signed", "does not fit")
		var check receiptCheck
		if c.Ask("POST", "/query/receipts/verify", json.RawMessage(changed), &check); check.Signed || !check.Same || check.Problem == "" {
			t.Errorf("the server says of a changed one: %+v", check)
		}
		if err := os.WriteFile(file, []byte(printed.Stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The file has the answer of the second agent or of the first: both read all rows.
	if status := c.Ask("POST", "/permissions/datasets/alice/shop/orders/rules", e2etest.Object{"username": "bob", "condition": "city = 'Berlin'"}, nil); status != http.StatusOK {
		t.Fatalf("rule: %d", status)
	}
	want("by bob who sees less", verify(bob), e2etest.ExitFailed, "differs", "you see other rows")
	var answer struct{ RunID string }
	bob.Ask("POST", "/query/autorag", e2etest.Object{"username": "alice", "namespace": "shop", "query": "How many orders are there?", "agent": "nl2ql"}, &answer)
	var limited json.RawMessage
	if bob.Ask("GET", "/query/runs/"+answer.RunID+"/receipt", nil, &limited); strings.Contains(string(limited), `"hash"`) || strings.Contains(string(limited), `"version"`) {
		t.Errorf("bob's receipt tells of rows that he does not see: %s", limited)
	}
	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "plum", "city": "Rome", "price": 9}}}, nil)
	want("over other data", verify(c), e2etest.ExitFailed, "differs", "The data has changed since: alice/shop/orders.")
	var check receiptCheck
	if bob.Ask("POST", "/query/receipts/verify", limited, &check); !check.Same || check.Steps[0].Reason != "" {
		t.Errorf("another row that bob does not see: %+v", check)
	}
	carol := e2etest.Client{Process: c.Process, Token: c.Process.Token("carol")}
	want("by carol who sees none", verify(carol), e2etest.ExitFailed, "You cannot read its data.")
	if status := c.Ask("POST", "/query/receipts/verify", e2etest.Object{"type": "x"}, nil); status != http.StatusUnprocessableEntity {
		t.Errorf("no receipt: %d", status)
	}
}
