package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestDataCommands uses the commands for data as somebody would who looks around.
func TestDataCommands(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	dir := t.TempDir()
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	for _, test := range []struct {
		args []string
		code int
		want string // all that is printed, or a part of it after …
	}{
		{[]string{"query", "SELECT city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1"}, e2etest.ExitOK, "city    n\n------  -\nBerlin  2\nParis   1\n(2 rows)\n"},
		{[]string{"query", "-n", "shop", "-f", "csv", "SELECT item, price, NULL AS nothing, 'a,\"b\"' AS odd FROM orders ORDER BY 1 LIMIT 1"}, e2etest.ExitOK, "item,price,nothing,odd\napple,1.5,,\"a,\"\"b\"\"\"\n"},
		{[]string{"query", "--format=markdown", "SELECT item, price FROM orders ORDER BY 1 LIMIT 1"}, e2etest.ExitOK, "| item | price |\n| --- | ---: |\n| apple | 1.5 |\n"},
		{[]string{"query", "--format=markdown", "SELECT '—' AS dash, 'a|b' AS bar"}, e2etest.ExitOK, "| dash | bar |\n| --- | --- |\n| — | a\\|b |\n"},
		{[]string{"query", "-f", "ndjson", "SELECT item FROM orders ORDER BY 1 LIMIT 2"}, e2etest.ExitOK, "{\"item\":\"apple\"}\n{\"item\":\"fig\"}\n"},
		{[]string{"query", "-f", "ndjson", "--internal", "SELECT item FROM orders ORDER BY 1 LIMIT 1"}, e2etest.ExitOK, "{\"item\":\"apple\",\"__metadata\":{\"score\":1.0}}\n"},
		{[]string{"head", "shop/orders", "-n", "1", "--sort", "item", "--json"}, e2etest.ExitOK, "[{\"city\":\"Berlin\",\"item\":\"apple\",\"price\":1.5}]\n"},
		{[]string{"query", "SELECT city, price AS p FROM orders WHERE false"}, e2etest.ExitOK, "city  p\n----  -\n(0 rows)\n"},
		{[]string{"query", "-f", "csv", "SELECT city, price AS p FROM orders WHERE false"}, e2etest.ExitOK, "city,p\n"},
		{[]string{"query", "-f", "markdown", "SELECT city, price AS p FROM orders WHERE false"}, e2etest.ExitOK, "| city | p |\n| --- | --- |\n"},
		{[]string{"query", "-f", "json", "SELECT city FROM orders WHERE false"}, e2etest.ExitOK, "[]\n"},
		{[]string{"query", "DROP TABLE orders"}, e2etest.ExitFailed, "…query alice/shop: "},
		{[]string{"query", "-n", "none", "SELECT 1"}, e2etest.ExitNotFound, "…there are alice/shop"},
		{[]string{"query"}, e2etest.ExitUsage, "…SQL is missing"},
		{[]string{"query", "SELECT 1", "--file", "x.sql"}, e2etest.ExitUsage, "…--file cannot be used with SQL"},
		{[]string{"query", "--file", "x.sql"}, e2etest.ExitFailed, "…x.sql"},
		{[]string{"head", "shop/orders", "-n", "1", "--sort", "price", "--desc"}, e2etest.ExitOK, "city    item  price\n------  ----  -----\nBerlin  fig       3\n(1 row)\n"},
		{[]string{"head", "shop/orders", "-n", "0"}, e2etest.ExitUsage, "…--rows"},
		{[]string{"head", "orders", "-n", "-1"}, e2etest.ExitUsage, "…--rows must be a number from 1 on, not \"-1\"\n  DATASET must be"},
		{[]string{"tasks", "", "--limit", "-1"}, e2etest.ExitUsage, "…--limit must be a number from 1 on, not \"-1\"\n  ID is empty\n"},
		{[]string{"tokens", "create", "x", "--ttl", "-5h", "--only", ""}, e2etest.ExitUsage, "…--ttl must be a duration such as 30s or 24h, not \"-5h\"\n  --only must be"},
		{[]string{"ingest", "x.csv", "--header-row", "-1", "--mode", "guess", "-d", "shop/x"}, e2etest.ExitUsage, "…--header-row must be a number from 0 on, not \"-1\"\n  --mode must be append or replace, not \"guess\"\n"},
		{[]string{"head", "orders"}, e2etest.ExitUsage, "…NAMESPACE/NAME"},
		{[]string{"datasets"}, e2etest.ExitOK, "namespace  name    rows  owner\n---------  ------  ----  -----\nshop       orders     3  alice\n"},
		{[]string{"datasets", "-f", "csv"}, e2etest.ExitOK, "namespace,name,rows,owner\nshop,orders,3,alice\n"},
		{[]string{"datasets", "-f", "json"}, e2etest.ExitOK, `[{"name":"orders","namespace":"shop","owner":"alice","visibility":"Private","rowCount":3}]` + "\n"},
		{[]string{"datasets", "-f", "ndjson"}, e2etest.ExitOK, `{"name":"orders","namespace":"shop","owner":"alice","visibility":"Private","rowCount":3}` + "\n"},
		{[]string{"tokens", "revoke", "nope"}, e2etest.ExitNotFound, "…you have no token nope; `parley tokens` lists yours\n"},
		{[]string{"describe", "shop/orders"}, e2etest.ExitOK, "…3 rows, 3 columns"},
		{[]string{"rename", "shop/orders", "sales"}, e2etest.ExitOK, "shop/orders is shop/sales now.\n"},
		{[]string{"rename", "shop/sales", "a/b"}, e2etest.ExitUsage, "…NAME"},
		{[]string{"rename", "shop/orders", "sales"}, e2etest.ExitNotFound, "…rename shop/orders"},
		{[]string{"delete", "shop/sales"}, e2etest.ExitUsage, "…--yes"},
		{[]string{"delete", "shop/sales", "-y"}, e2etest.ExitOK, "shop/sales is deleted.\n"},
		{[]string{"delete", "shop/sales", "-y"}, e2etest.ExitNotFound, "…look for shop/sales"},
		{[]string{"open", "--print"}, e2etest.ExitOK, c.URL + "/#token=" + c.Token + "\n"},
		{[]string{"--version"}, e2etest.ExitOK, "…parley dev"},
		{[]string{"nonsense"}, e2etest.ExitUsage, "…parley --help"},
	} {
		got := e2etest.RunCommand(t, dir, env, test.args...)
		printed := got.Stdout + got.Stderr
		part, isPart := strings.CutPrefix(test.want, "…")
		if got.Code != test.code || !isPart && printed != test.want || !strings.Contains(printed, part) {
			t.Errorf("parley %s: %d\n%s", strings.Join(test.args, " "), got.Code, printed)
		}
	}
}

// TestQueryAllRows prints all rows of a result that is larger than a page, in all formats.
func TestQueryAllRows(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	dir := t.TempDir()
	const sql = "SELECT i, 1 AS m FROM range(5195) r(i) ORDER BY i"
	if err := os.WriteFile(filepath.Join(dir, "rows.sql"), []byte(sql+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token, "TMPDIR=" + dir}
	for format, want := range map[string]struct {
		lines int
		last  string
	}{
		"csv":      {5196, "5194,1"},
		"ndjson":   {5195, `{"i":5194,"m":1}`},
		"json":     {1, `,{"i":5194,"m":1}]`},
		"markdown": {5197, "| 5194 | 1 |"},
		"table":    {5197, "5194  1"},
	} {
		cmd := e2etest.Command(t, dir, env, "query", "-", "--format", format)
		got := typed(t, cmd, sql)
		if lines := strings.Split(strings.TrimSuffix(got.Stdout, "\n"), "\n"); got.Code != e2etest.ExitOK || len(lines) != want.lines || !strings.HasSuffix(lines[len(lines)-1], want.last) {
			t.Errorf("%s: %d, %d lines, the last %.100q\n%.500s", format, got.Code, len(lines), lines[len(lines)-1], got.Stderr)
		}
	}
	got := e2etest.RunCommand(t, dir, env, "query", "--file", "rows.sql", "-f", "csv")
	if lines := strings.Split(got.Stdout, "\n"); got.Code != e2etest.ExitOK || len(lines) != 5197 {
		t.Errorf("%d, %d lines\n%.500s", got.Code, len(lines), got.Stderr)
	}
	got = e2etest.RunCommand(t, dir, env, "query", "-f", "csv", "SELECT CAST(CASE WHEN i > 4000 THEN 'wrong' ELSE '1' END AS INTEGER) AS v FROM range(5195) r(i)")
	if got.Code != e2etest.ExitFailed || got.Stdout != "" || !strings.Contains(got.Stderr, "wrong") {
		t.Errorf("%d %.100s %s", got.Code, got.Stdout, got.Stderr)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "parley-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind %v %v", left, err)
	}
}

// TestDownloadCommand writes a dataset into files.
func TestDownloadCommand(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	dir := t.TempDir()
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	if got := e2etest.RunCommand(t, dir, env, "download", "shop/orders"); got.Code != e2etest.ExitOK || got.Stdout != "" || !strings.HasPrefix(got.Stderr, "orders.csv: ") {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	printed := e2etest.RunCommand(t, dir, env, "download", "alice/shop/orders", "-o", "-")
	file, err := os.ReadFile(filepath.Join(dir, "orders.csv"))
	if err != nil || printed.Stdout != string(file) || !strings.HasPrefix(printed.Stdout, "city,item,price\n") || strings.Count(printed.Stdout, "\n") != 4 {
		t.Errorf("%v: %q, printed %q", err, file, printed.Stdout)
	}
	got := e2etest.RunCommand(t, dir, env, "download", "shop/orders", "--format", "parquet", "--output", "mine.parquet")
	if file, err = os.ReadFile(filepath.Join(dir, "mine.parquet")); err != nil || got.Code != e2etest.ExitOK || !strings.HasPrefix(string(file), "PAR1") {
		t.Errorf("%d %s: %v", got.Code, got.Stderr, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.csv.partial"), []byte("of another download"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"shop/orders"}, e2etest.ExitUsage, "orders.csv exists"},
		{[]string{"shop/orders", "-o", "other.csv"}, e2etest.ExitFailed, "other.csv.partial exists: another download writes it"},
		{[]string{"shop/none"}, e2etest.ExitNotFound, "download shop/none: "},
		{[]string{"shop/orders", "--format", "xlsx"}, e2etest.ExitUsage, "parley download --help"},
		{[]string{"shop/orders", "-o", "none/orders.csv"}, e2etest.ExitFailed, "none/orders.csv"},
	} {
		got := e2etest.RunCommand(t, dir, env, append([]string{"download"}, test.args...)...)
		if got.Code != test.code || !strings.Contains(got.Stderr, test.want) {
			t.Errorf("parley download %s: %d %s", strings.Join(test.args, " "), got.Code, got.Stderr)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 3 {
		t.Errorf("there are %v", left)
	}
}

// TestDownloadOnTerminal shows a dataset whose values a terminal would obey.
func TestDownloadOnTerminal(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	c.Ask("POST", "/ingest/shop/notes", e2etest.Object{"data": []any{e2etest.Object{"note": "a \x1b]0;title\x07 \u009b2J\nb é"}}}, nil)
	s := onScreen(t, e2etest.Command(t, t.TempDir(), env, "download", "shop/notes", "-o", "-"))
	s.sees(`"a \x1b]0;title\x07 \u009b2J` + "\r\n" + `b é"`)
	if code := s.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	s = onScreen(t, e2etest.Command(t, t.TempDir(), env, "download", "shop/notes", "-f", "parquet", "-o", "-"))
	s.sees("must name a file: parquet is not for a terminal")
	if code := s.ends(); code != e2etest.ExitUsage {
		t.Errorf("exit code %d", code)
	}
}

// TestTokenCommands makes a token that reads one dataset, and revokes it.
func TestTokenCommands(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	dir := t.TempDir()
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	if got := e2etest.RunCommand(t, dir, env, "tokens"); got.Code != e2etest.ExitOK || !strings.Contains(got.Stderr, "parley tokens create") {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	made := e2etest.RunCommand(t, dir, env, "tokens", "create", "report", "--only", "shop/orders", "--ttl", "1h")
	if made.Code != e2etest.ExitOK {
		t.Fatalf("%d %s", made.Code, made.Stderr)
	}
	limited := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + strings.TrimSpace(made.Stdout)}
	if got := e2etest.RunCommand(t, dir, limited, "head", "shop/orders", "-f", "csv"); got.Code != e2etest.ExitOK || strings.Count(got.Stdout, "\n") != 4 {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, limited, "rename", "shop/orders", "mine"); got.Code == e2etest.ExitOK {
		t.Errorf("a token for reading renames: %s", got.Stdout)
	}
	list := e2etest.RunCommand(t, dir, env, "tokens", "-f", "csv")
	lines := strings.Split(strings.TrimSpace(list.Stdout), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], ",report,read,shop/orders,") {
		t.Fatalf("%d %s%s", list.Code, list.Stdout, list.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, env, "tokens", "--json"); !strings.Contains(got.Stdout, `"accessRestrictedTo":[{"username":"alice","namespace":"shop","dataset":"orders"}]`) {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	id, _, _ := strings.Cut(lines[1], ",")
	if got := e2etest.RunCommand(t, dir, env, "tokens", "revoke", id); got.Code != e2etest.ExitOK {
		t.Errorf("%d %s", got.Code, got.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, limited, "head", "shop/orders"); got.Code != e2etest.ExitNotSignedIn {
		t.Errorf("a revoked token: %d %s", got.Code, got.Stderr)
	}
	var lasting struct {
		Created time.Time `json:"created_at"`
		Expires time.Time `json:"expires_at"`
	}
	plain := e2etest.RunCommand(t, dir, env, "tokens", "create", "plain", "--json")
	if err := json.Unmarshal([]byte(plain.Stdout), &lasting); err != nil {
		t.Fatalf("%v: %s%s", err, plain.Stdout, plain.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, env, "tokens", "-f", "ndjson"); got.Code != e2etest.ExitOK || strings.Contains(got.Stdout, "accessRestrictedTo") {
		t.Errorf("a token without restriction: %d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	help := e2etest.RunCommand(t, dir, nil, "tokens", "create", "--help")
	if days := lasting.Expires.Sub(lasting.Created).Round(time.Hour).Hours() / 24; !strings.Contains(strings.Join(strings.Fields(help.Stdout), " "), fmt.Sprintf("By default, %.0f days.", days)) {
		t.Errorf("a token is valid for %v days, the help says %s", days, help.Stdout)
	}
	for _, args := range [][]string{
		{"tokens", "create", "x", "--only", ""}, {"tokens", "create", "x", "--only", "shop", "--only", ""}, {"tokens", "create", "x", "--only", "shop,"}, {"tokens", "revoke", ""},
		{"describe", ""}, {"tasks", ""}, {"cancel", ""}, {"backup", ""}, {"ingest", "", "-d", "shop/orders"},
	} {
		if got := e2etest.RunCommand(t, dir, env, args...); got.Code != e2etest.ExitUsage || got.Stdout != "" {
			t.Errorf("%q: %d %s%s", args, got.Code, got.Stdout, got.Stderr)
		}
	}
	if got := e2etest.RunCommand(t, dir, env, "datasets", "--token", "a\nb"); got.Code != e2etest.ExitNotSignedIn || !strings.Contains(got.Stderr, "line break") {
		t.Errorf("%d %s", got.Code, got.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, env, "describe", "shop/orders", "-f", "csv"); got.Code != e2etest.ExitOK || !strings.HasPrefix(got.Stdout, "column,type") {
		t.Errorf("%d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := e2etest.RunCommand(t, dir, env, "tokens", "create", "x", "--write", "--only", "a/b/c/d"); got.Code != e2etest.ExitUsage || !strings.Contains(got.Stderr, "--only") {
		t.Errorf("%d %s", got.Code, got.Stderr)
	}
}
