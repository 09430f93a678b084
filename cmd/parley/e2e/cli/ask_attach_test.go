package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

const salesCSV = "region,amount\nnorth,10\nsouth,20\nnorth,5\n"

// TestAskAttach asks about a file, which the conversation has from then on.
func TestAskAttach(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	file := filepath.Join(t.TempDir(), "sales.csv")
	if err := os.WriteFile(file, []byte(salesCSV), 0o600); err != nil {
		t.Fatal(err)
	}
	got := typed(t, talk(c, "ask", "--namespace", "shop", "--agent", "nl2ql", "--json", "--attach", file, "What is the total amount per region?"), "")
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, `{"region":"south","total_amount":20,`) {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	// Who has no data needs no namespace, also for the questions that follow.
	bob := e2etest.Client{Process: c.Process, Token: c.Process.Token("bob")}
	got = typed(t, talk(bob, "ask", "--agent", "nl2ql", "--attach", file, "How many sales are there?"), "")
	conversation := regexp.MustCompile(`conversation (\S+)`).FindStringSubmatch(got.Stderr)
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "3") || conversation == nil {
		t.Fatalf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	got = typed(t, talk(bob, "ask", "--agent", "nl2ql", "--context", conversation[1], "How many sales are there in the north region?"), "")
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "2") {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	got = typed(t, talk(bob, "ask", "--follow", "--agent", "nl2ql", "--attach", file, "How many sales are there?"), "What is the total amount?\n")
	if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "35") || !strings.Contains(got.Stderr, "parley ask --follow --context ") {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestAskAttachRefused attaches what cannot be sent.
func TestAskAttachRefused(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	dir := t.TempDir()
	for name, size := range map[string]int64{"empty.csv": 0, "large.csv": 8<<20 + 1, "larger.csv": 16 << 20, "huge.csv": 65 << 20} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("region\n")[:min(size, 7)], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	many := []string{"ask", "x"}
	for range 11 {
		many = append(many, "--attach", "large.csv")
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ask", "--attach", ".", "x"}, e2etest.ExitUsage, "--attach cannot be used: . is a folder"},
		{[]string{"ask", "--attach", "none.csv", "x"}, e2etest.ExitUsage, "there is no file none.csv"},
		{[]string{"ask", "--attach", "empty.csv", "x"}, e2etest.ExitUsage, "empty.csv is empty"},
		{[]string{"ask", "--attach", "huge.csv", "x"}, e2etest.ExitUsage, "parley ingest FILE"},
		{[]string{"ask", "--attach", "larger.csv", "x"}, e2etest.ExitFailed, "parley ingest FILE"},
		{[]string{"ask", "--attach", "large.csv", "x"}, e2etest.ExitFailed, "files of at most 8388608 bytes in all; upload larger ones as datasets"},
		{many, e2etest.ExitUsage, "--attach can name at most 10 files"},
	} {
		got := e2etest.RunCommand(t, dir, env, test.args...)
		if got.Code != test.code || !strings.Contains(got.Stderr, test.want) {
			t.Errorf("parley %s: %d %s", strings.Join(test.args, " "), got.Code, got.Stderr)
		}
	}
}

// TestSimilarNamespace names a namespace of another user as if it were one's own, and one
// with a slip.
func TestSimilarNamespace(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	if status := c.Ask("POST", "/permissions/namespaces/self/shop/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil); status != http.StatusOK {
		t.Fatalf("share: %d", status)
	}
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Process.Token("bob")}
	for _, namespace := range []string{"shop", "Shop", "shpo", "alice/shops", "bob/shop"} {
		for _, args := range [][]string{{"ask", "How many orders are there?"}, {"query", "SELECT 1"}} {
			got := e2etest.RunCommand(t, t.TempDir(), env, append(args, "--namespace", namespace)...)
			if got.Code != e2etest.ExitNotFound || !strings.Contains(got.Stderr, "there is no namespace "+namespace+" that you may read; did you mean alice/shop?") {
				t.Errorf("parley %s --namespace %s: %d %s", args[0], namespace, got.Code, got.Stderr)
			}
		}
	}
}
