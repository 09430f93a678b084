package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
	"parley/storage/sqlstore"
)

// ruledRows has rows of two regions. Those of the north have marked values, and would fail where
// they are computed with.
const ruledRows = `{"data":[
	{"id":1,"region":"south","customer":"Ann","code":"10","amount":10.5,"day":"2025-01-01"},
	{"id":2,"region":"south","customer":"Ben","code":"20","amount":20.5,"day":"2025-01-02"},
	{"id":777001,"region":"north","customer":"hiddenQuill","code":"hiddenX","amount":777000.25,"day":"2031-07-07"},
	{"id":777002,"region":"north","customer":"hiddenZan","code":"hiddenY","amount":777111.75,"day":"2031-07-08"},
	{"id":777003,"region":null,"customer":"hiddenNil","code":"0","amount":0,"day":"2031-07-09"}]}`

// hidden are texts that show something of a hidden row.
var hidden = []string{"hidden", "777000", "777001", "777002", "777003", "777111", "2031-", "north"}

// revealing are expressions that would show a hidden row by their value or by an error.
var revealing = []string{
	`customer`, `max(customer)`, `min(amount)`, `sum(amount)`, `count(*)`, `count(DISTINCT region)`, `string_agg(customer, ',')`, `list(customer)`, `first(customer)`, `last(code)`,
	`any_value(customer)`, `arg_max(customer, amount)`, `mode(region)`, `median(amount)`, `histogram(region)`, `approx_count_distinct(customer)`, `bool_or(region = 'north')`, `max(day)`,
	`CAST(code AS INTEGER)`, `CAST(customer AS INTEGER)`, `CAST(customer AS DATE)`, `1 / (CASE WHEN region = 'north' THEN 0 ELSE 1 END)`, `error(customer)`, `to_json(t)`, `t`, `hash(customer)`,
	`row_number() OVER (ORDER BY amount DESC)`, `lag(customer) OVER (ORDER BY id)`, `lead(customer) OVER (ORDER BY id)`, `sum(amount) OVER ()`,
}

// ruledStatements are statements over these expressions.
var ruledStatements = []string{
	`SELECT %s AS x FROM orders t`,
	`SELECT %s AS x FROM orders t WHERE CAST(code AS INTEGER) > 0`,
	`SELECT %s AS x FROM (SELECT * FROM orders ORDER BY amount DESC LIMIT 5) t`,
	`WITH t AS MATERIALIZED (SELECT * FROM orders) SELECT %s AS x FROM t`,
	`SELECT %s AS x FROM orders t JOIN regions r ON r.name = t.region OR t.region IS NULL`,
	`SELECT %s AS x FROM regions r LEFT JOIN orders t ON t.region = r.name`,
	`SELECT %s AS x FROM orders t WHERE EXISTS (SELECT 1 FROM orders o WHERE o.region <> t.region)`,
}

// Nobody sees a row that a rule hides, whatever is asked of the dataset.
func TestRowRules(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		sign := func(user string, groups ...string) {
			cfg := s.auth
			cfg.Now = func() time.Time { return time.Now().Add(-time.Minute) } // of tokens of one second, the first counts
			token, err := auth.Sign(cfg, user, time.Hour, groups...)
			if err != nil {
				t.Fatal(err)
			}
			s.vars[user] = token
		}
		sign("bob", "south")
		sign("carol", "south", "north")
		sign("dan")
		send := func(user, method, path, body string, want int) answer {
			t.Helper()
			kind := ""
			if body != "" {
				kind = "application/json"
			}
			got := s.send(user, method, path, kind, body)
			if got.status != want {
				t.Errorf("%s %s %s %s: got %d, want %d: %s", user, method, path, body, got.status, want, got.body)
			}
			return got
		}
		query := func(user, sql string) answer {
			t.Helper()
			body, err := json.Marshal(map[string]string{"username": "alice", "namespace": "shop", "query": sql})
			if err != nil {
				t.Fatal(err)
			}
			return s.send(user, http.MethodPost, "/query", "application/json", string(body))
		}
		shows := func(about string, got answer) {
			t.Helper()
			for _, text := range hidden {
				if strings.Contains(got.body, text) && !strings.Contains(about, text) {
					t.Errorf("%s shows %q: %d %s", about, text, got.status, got.body)
				}
			}
		}
		send("alice", http.MethodPost, "/ingest/shop/orders", ruledRows, http.StatusOK)
		send("alice", http.MethodPost, "/ingest/shop/regions", `{"data":[{"name":"south"},{"name":"west"}]}`, http.StatusOK)
		const rules, share = "/permissions/datasets/alice/shop/orders/rules", "/permissions/namespaces/alice/shop/shares"
		got := send("alice", http.MethodPost, rules, `{"username":"group:South","condition":"region = 'south' -- only"}`, http.StatusOK)
		if got.body != `{"visibleRows":2,"rowCount":5}`+"\n" {
			t.Errorf("set a rule: %s", got.body)
		}
		send("alice", http.MethodPost, rules, `{"username":"group:north","condition":"region = 'north'"}`, http.StatusOK)
		send("alice", http.MethodPost, share, `{"username":"group:south","role":"editor"}`, http.StatusOK)
		send("alice", http.MethodPost, share, `{"username":"dan","role":"viewer"}`, http.StatusOK)

		// The rows that everybody sees.
		for user, want := range map[string]string{"alice": `"n":5`, "dan": `"n":0`, "carol": `"n":4`, "bob": `"n":2`} {
			if got := query(user, `SELECT count(*) AS n FROM orders`); !strings.Contains(got.body, want) {
				t.Errorf("%s: want %s: %d %s", user, want, got.status, got.body)
			}
		}

		attempts := 0
		for _, statement := range ruledStatements[:fulltest.Count(2, len(ruledStatements))] {
			for _, expression := range revealing {
				sql := fmt.Sprintf(statement, expression)
				shows(sql, query("bob", sql))
				attempts++
			}
		}
		for _, path := range []string{
			"/data/alice/shop/orders", "/data/alice/shop/orders/profile", "/data/alice/shop/orders/rows", "/data/alice/shop/orders/rows?sort=amount&order=desc",
			"/data/alice/shop/orders/rows?offset=2", "/data/alice/shop/orders/download", "/data/alice/shop/orders/links", "/data/alice/shop/regions/links",
			"/data/alice/shop/orders/ingest/attempts", "/schema/alice/shop/datasets", "/schema/alice/shop/datasets?metadata=true", "/schema/datasets/all", "/verified/alice/shop", "/boards/alice/shop",
		} {
			shows(path, s.send("bob", http.MethodGet, path, "", ""))
			attempts++
		}
		if got := send("bob", http.MethodGet, "/data/alice/shop/orders/download?format=parquet", "", http.StatusOK); strings.Contains(got.body, "hidden") {
			t.Error("the download as Parquet shows a hidden row")
		}
		for _, path := range []string{"/data/alice/shop/orders", "/data/alice/shop/orders/profile"} {
			if got := send("bob", http.MethodGet, path, "", http.StatusOK); !strings.Contains(got.body, `"rowCount":2`) {
				t.Errorf("%s: want 2 rows: %s", path, got.body)
			}
		}
		t.Log(attempts, "attempts")

		// Who sees some rows only is a viewer.
		send("bob", http.MethodPost, "/data/alice/shop/orders/clear", "", http.StatusForbidden)
		send("bob", http.MethodPut, "/data/alice/shop/orders/inferDefinition", `{"dataDescription":"x"}`, http.StatusNotFound)
		send("bob", http.MethodPost, rules, `{"username":"group:south","condition":"true"}`, http.StatusForbidden)
		send("bob", http.MethodDelete, rules, `{"username":"group:south"}`, http.StatusForbidden)
		send("bob", http.MethodGet, rules, "", http.StatusForbidden)
		if got := s.send("bob", http.MethodPost, "/data/alice/shop/orders/rename", "text/plain", "mine"); got.status != http.StatusForbidden {
			t.Errorf("rename: %d %s", got.status, got.body)
		}

		// Verified queries and boards can have hidden values in their texts.
		send("alice", http.MethodPost, "/verified/alice/shop", `{"question":"Orders of hiddenQuill?","query":"SELECT count(*) FROM orders WHERE customer = 'hiddenQuill'"}`, http.StatusCreated)
		send("alice", http.MethodPost, "/verified/alice/shop", `{"question":"How many regions?","query":"SELECT count(*) FROM regions"}`, http.StatusCreated)
		verified := send("bob", http.MethodGet, "/verified/alice/shop", "", http.StatusOK)
		if shows("verified queries", verified); !strings.Contains(verified.body, "How many regions") {
			t.Errorf("verified queries: %s", verified.body)
		}

		// The rules: a claim, several ones, and none.
		send("alice", http.MethodPost, rules, `{"username":"dan","column":"Region","claim":"region"}`, http.StatusOK)
		if got := query("dan", `SELECT count(*) AS n FROM orders`); !strings.Contains(got.body, `"n":0`) {
			t.Errorf("a claim without a value: %s", got.body)
		}
		cfg := s.auth
		cfg.Claims = []string{"region"}
		token, err := auth.Sign(cfg, "dan", time.Hour, "south", "it's west")
		if err != nil {
			t.Fatal(err)
		}
		s.vars["dan"] = token
		if got := query("dan", `SELECT count(*) AS n FROM orders`); !strings.Contains(got.body, `"n":2`) {
			t.Errorf("a claim: %s", got.body)
		}
		list := send("alice", http.MethodGet, rules, "", http.StatusOK)
		want := `[{"username":"dan","column":"Region","claim":"region"},{"username":"group:north","condition":"region = 'north'"},{"username":"group:south","condition":"region = 'south' -- only"}]` + "\n"
		if list.body != want {
			t.Errorf("rules: got %s, want %s", list.body, want)
		}
		send("alice", http.MethodDelete, rules, `{"username":"group:south"}`, http.StatusOK)
		send("alice", http.MethodDelete, rules, `{"username":"group:south"}`, http.StatusNotFound)
		if got := query("bob", `SELECT count(*) AS n FROM orders`); !strings.Contains(got.body, `"n":0`) {
			t.Errorf("without a rule, where others have one: %s", got.body)
		}
		send("alice", http.MethodDelete, rules, `{"username":"dan"}`, http.StatusOK)
		send("alice", http.MethodDelete, rules, `{"username":"group:north"}`, http.StatusOK)
		if got := query("bob", `SELECT count(*) AS n FROM orders`); !strings.Contains(got.body, `"n":5`) {
			t.Errorf("without rules: %s", got.body)
		}
		send("bob", http.MethodPost, "/data/alice/shop/orders/clear", "", http.StatusOK)
	})
}

// A rule that does not fit the rows any more shows none, and says nothing of their values.
func TestRowRuleThatFails(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	const rules = "/permissions/datasets/alice/shop/orders/rules"
	s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", `{"data":[{"id":1,"code":"7"}]}`)
	s.send("alice", http.MethodPost, "/permissions/datasets/alice/shop/orders/shares", "application/json", `{"username":"bob","role":"viewer"}`)
	for body, problem := range map[string]string{
		`{"username":"bob","condition":"missing = 1"}`:                                                                                                         "missing",
		`{"username":"bob","condition":"true) UNION SELECT * FROM orders WHERE (true"}`:                                                                        "",
		`{"username":"bob","condition":"id IN (SELECT id FROM other)"}`:                                                                                        "other",
		`{"username":"bob","condition":"read_text('/etc/passwd') = ''"}`:                                                                                       "read_text",
		`{"username":"bob","condition":"true)) AS a, (SELECT 1 FROM range(3) UNION ALL SELECT 1 LIMIT 1) AS b, (SELECT 1 WHERE (true"}`:                        "",
		`{"username":"bob","condition":"true)) AS visible, count(*) AS total FROM orders WHERE false GROUP BY id EXCEPT SELECT count(*) FILTER (WHERE (true"}`: "",
		`{"username":"bob","condition":"true ORDER BY 1"}`:                                                                                                     "one SQL expression",
		`{"username":"bob","condition":"true LIMIT 1"}`:                                                                                                        "one SQL expression",
		`{"username":"bob","condition":"true UNION SELECT 1"}`:                                                                                                 "one SQL expression",
		`{"username":"bob","condition":"true QUALIFY true"}`:                                                                                                   "",
		`{"username":"bob","condition":"id = (SELECT max(id) FROM orders)"}`:                                                                                   "subquery",
		`{"username":"bob","condition":"id IN (SELECT id FROM orders)"}`:                                                                                       "subquery",
		`{"username":"bob","condition":"orders.id = 1"}`:                                                                                                       "without the name of the dataset",
		`{"username":"bob","condition":"random() < 0.5"}`:                                                                                                      "random",
		`{"username":"bob","condition":"id < year(now())"}`:                                                                                                    "now",
		`{"username":"bob","condition":"id < year(current_date)"}`:                                                                                             "",
		`{"username":"bob","condition":"match(code, 'x') > 0"}`:                                                                                                "searches",
		`{"username":"bob","condition":"id = 1 /*"}`:                                                                                                           "",
		`{"username":"bob","condition":"sum(id) > 1"}`:                                                                                                         "",
		`{"username":"bob","condition":"true; SELECT 1"}`:                                                                                                      "",
		`{"username":"bob","condition":""}`:                                                                                                                    "condition",
		`{"username":"bob"}`:                                                                                                                                   "condition",
		`{"username":"alice","condition":"true"}`:                                                                                                              "owner sees all rows",
		`{"username":"group:","condition":"true"}`:                                                                                                             "username",
		`{"username":"bob","column":"id","claim":"shoe size"}`:                                                                                                 "groups, region",
		`{"username":"bob","column":"none","claim":"region"}`:                                                                                                  "is not a column",
		`{"username":"bob","column":"id"}`:                                                                                                                     "claim",
		`{"username":"bob","column":"id","claim":"a","condition":"true"}`:                                                                                      "beside",
	} {
		got := s.send("alice", http.MethodPost, rules, "application/json", body)
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, problem) {
			t.Errorf("%s: got %d %s", body, got.status, got.body)
		}
	}
	s.send("alice", http.MethodPost, rules, "application/json", `{"username":"bob","condition":"CAST(code AS INTEGER) < 5"}`)
	s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", `{"data":[{"id":2,"code":"hiddenText"}]}`)
	for _, path := range []string{"/data/alice/shop/orders/rows", "/data/alice/shop/orders/download", "/data/alice/shop/orders/download?format=parquet"} {
		got := s.send("bob", http.MethodGet, path, "", "")
		if got.status != http.StatusUnprocessableEntity || strings.Contains(got.body, "hiddenText") || !strings.Contains(got.body, "a row rule of `orders` does not fit its rows") {
			t.Errorf("%s: got %d %s", path, got.status, got.body)
		}
	}
	if got := s.send("alice", http.MethodGet, "/data/alice/shop/orders/rows", "", ""); got.status != http.StatusOK || !strings.Contains(got.body, "hiddenText") {
		t.Errorf("the owner: got %d %s", got.status, got.body)
	}
}
