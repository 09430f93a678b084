package rest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// saved lists the saved queries that a user sees, as "access: title question, …".
func (s *service) saved(user, path string) string {
	s.t.Helper()
	got := s.send(user, http.MethodGet, path, "", "")
	var list struct {
		Access  string
		Queries []struct{ ID, Title, Question, Query, SavedBy string }
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || got.status != http.StatusOK {
		s.t.Fatalf("%s: %d %s", user, got.status, got.body)
	}
	var names []string
	for _, q := range list.Queries {
		names = append(names, strings.TrimSpace(q.Title+" "+q.Question)+" = "+q.Query+" by "+q.SavedBy)
		s.vars[q.Question] = q.ID
	}
	return list.Access + ": " + strings.Join(names, ", ")
}

// TestSavedQueries has everybody list, save and remove queries of both kinds.
func TestSavedQueries(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.play(`
alice POST /ingest/shop/orders {"data":[{"n":1}]}
alice POST /ingest/shop/wages {"data":[{"n":1}]}
alice POST /permissions/namespaces/alice/shop/shares {"username":"ed","role":"editor"}
alice POST /permissions/namespaces/alice/shop/shares {"username":"vi","role":"viewer"}
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"one","role":"editor"}`)
		s.makeToken("reading", "alice", `{"name":"r","accessRestrictedTo":[{"username":"self","namespace":"shop"}]}`)
		s.makeToken("orders", "alice", `{"name":"o","access":"write","accessRestrictedTo":[{"username":"self","namespace":"shop","dataset":"orders"}]}`)
		send := func(user, method, path, body string, status int) {
			t.Helper()
			if got := s.send(user, method, path, "application/json", body); got.status != status {
				t.Errorf("%s %s %s %s: %d %s, want %d", user, method, path, body, got.status, got.body, status)
			}
		}
		for _, path := range []string{"/verified/alice/shop", "/boards/alice/shop"} {
			orders, wages := `{"question":"Orders?","query":"SELECT n FROM orders"}`, `{"question":"Wages?","query":"SELECT n FROM wages"}`
			for _, user := range []string{"vi", "one", "reading", "orders"} {
				send(user, "POST", path, orders, http.StatusForbidden)
			}
			send("bob", "POST", path, orders, http.StatusNotFound)
			send("bob", "GET", path, "", http.StatusNotFound)
			send("alice", "POST", path, orders, http.StatusCreated)
			send("ed", "POST", path, wages, http.StatusCreated)
			for _, body := range []string{`{"question":"?","query":"SELECT n FROM nothing"}`, `{"question":"?","query":"DROP TABLE orders"}`, `{"question":" ","query":""}`, `{}`} {
				send("alice", "POST", path, body, http.StatusUnprocessableEntity)
			}
			title := func(question string) string {
				if strings.HasPrefix(path, "/boards") {
					return question + " " + question
				}
				return question
			}
			first, second := title("Orders?")+" = SELECT n FROM orders by alice", title("Wages?")+" = SELECT n FROM wages by ed"
			for user, want := range map[string]string{
				"alice": "owner: " + first + ", " + second, "ed": "editor: " + first + ", " + second, "vi": "viewer: " + first + ", " + second,
				"reading": "viewer: " + first + ", " + second, "one": "viewer: " + first, "orders": "viewer: " + first,
			} {
				if got := s.saved(user, path); got != want {
					t.Errorf("%s: %s sees %s, want %s", path, user, got, want)
				}
			}
			other := strings.NewReplacer("verified", "boards", "boards", "verified").Replace(path)
			id := "/" + s.vars["Orders?"]
			send("vi", "DELETE", path+id, "", http.StatusForbidden)
			send("one", "DELETE", path+id, "", http.StatusForbidden)
			send("bob", "DELETE", path+id, "", http.StatusNotFound)
			send("alice", "DELETE", other+id, "", http.StatusNotFound)
			send("ed", "DELETE", path+id, "", http.StatusNoContent)
			send("ed", "DELETE", path+id, "", http.StatusNotFound)
			send("ed", "DELETE", path+"/x", "", http.StatusNotFound)
			if got := s.saved("one", path); got != "viewer: " {
				t.Errorf("%s: one sees %s", path, got)
			}
		}
		// The same question again has the new query.
		send("ed", "POST", "/verified/alice/SHOP", `{"question":"  wages","query":"SELECT 2"}`, http.StatusCreated)
		if got := s.saved("vi", "/verified/alice/shop"); got != "viewer: wages = SELECT 2 by ed" {
			t.Errorf("vi sees %s", got)
		}
		for i := range 23 {
			send("alice", "POST", "/boards/alice/shop", fmt.Sprintf(`{"title":"%d","question":"Same?","query":"SELECT 1"}`, i), http.StatusCreated)
		}
		send("alice", "POST", "/boards/alice/shop", `{"title":7,"question":"One more?","query":"SELECT 1"}`, http.StatusUnprocessableEntity)
		send("alice", "POST", "/boards/alice/shop", `{"question":"One more?","query":"SELECT 1"}`, http.StatusTooManyRequests)
		send("alice", "DELETE", "/data/alice/shop?deleteDatasets=true", "", http.StatusNoContent)
	})
}

// haveShare shares alice's completed run.
func (s *service) haveShare() {
	s.t.Helper()
	s.vars["share"] = s.share("alice", s.vars["completed"])
}

// share shares a run, and gives the id of the link.
func (s *service) share(user, run string) string {
	s.t.Helper()
	got := s.send(user, http.MethodPost, "/query/runs/"+run+"/share", "", "")
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &made); err != nil || got.status != http.StatusOK {
		s.t.Fatalf("share: %d %s", got.status, got.body)
	}
	return made.ID
}

// answered has alice ask a question, in a new conversation or this one, whose answer has a
// step with this query.
func (s *service) answered(conversation, namespace, query string) string {
	s.t.Helper()
	return s.answeredAs("The secret.", conversation, namespace, query)
}

func (s *service) answeredAs(answer, conversation, namespace, query string) string {
	s.t.Helper()
	ctx, alice := s.t.Context(), domain.Caller{Username: "alice"}
	asked, err := sqlstoretest.Ask(ctx, s.store, alice, domain.Question{
		ConversationID: cmp.Or(conversation, uuid.NewString()), Namespace: domain.NamespaceRef{Owner: "alice", Name: namespace}, Agent: "nl2ql", Text: "What is there?",
	})
	if err == nil {
		result := fmt.Sprintf(`{"response":%q,"steps":[{"instruction":"","query":%q,"reasoning":"","data":[]}]}`, answer, query)
		err = sqlstoretest.Finish(ctx, s.store, alice, asked.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: json.RawMessage(result)})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return asked.RunID
}

// TestSharedRuns has everybody open links to runs: they are for those who may read, now, all
// that the runs read.
func TestSharedRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.play(`
alice POST /ingest/shop/orders {"data":[{"n":1}]}
alice POST /ingest/shop/wages {"data":[{"n":1}]}
alice POST /ingest/lab/tests {"data":[{"n":1}]}
alice POST /permissions/namespaces/alice/shop/shares {"username":"vi","role":"viewer"}
alice POST /permissions/namespaces/alice/lab/shares {"username":"lab","role":"editor"}
alice POST /permissions/datasets/alice/shop/orders/shares {"username":"one","role":"viewer"}`)
		s.makeToken("reading", "alice", `{"name":"r","accessRestrictedTo":[{"username":"self","namespace":"shop"}]}`)
		s.makeToken("wages", "alice", `{"name":"o","accessRestrictedTo":[{"username":"self","namespace":"shop","dataset":"wages"}]}`)
		readers := func(share string) string {
			var may []string
			for _, user := range []string{"alice", "lab", "one", "reading", "vi", "wages"} {
				switch got := s.send(user, http.MethodGet, "/shared/"+share, "", ""); {
				case got.status == http.StatusOK && strings.Contains(got.body, `"The secret`):
					may = append(may, user)
				case got.status != http.StatusNotFound || strings.Contains(got.body, "secret"):
					t.Errorf("%s: %d %s", user, got.status, got.body)
				}
			}
			return strings.Join(may, " ")
		}
		first := uuid.NewString()
		runs := map[string]string{
			"SELECT n FROM orders":            "alice one reading vi",
			"SELECT 1":                        "alice one reading vi wages",
			"SELECT n FROM wages":             "alice reading vi wages",
			"SELECT o.n FROM orders o, wages": "alice reading vi",
		}
		for query, want := range runs {
			if got := readers(s.share("alice", s.answered("", "shop", query))); got != want {
				t.Errorf("%s is read by %q, want %q", query, got, want)
			}
		}
		// Its texts name another dataset, or a column that only another one has.
		s.play(`alice POST /ingest/shop/bribes {"data":[{"n":1,"nameOfMinister":"x"}]}`)
		for text, want := range map[string]string{
			"The secret. It could also mean: total n of Bribes.": "alice reading vi",
			"The secret, by name of minister.":                   "alice reading vi",
			"The secret, by name.":                               "alice one reading vi",
		} {
			if got := readers(s.share("alice", s.answeredAs(text, "", "shop", "SELECT n FROM orders"))); got != want {
				t.Errorf("%s is read by %q, want %q", text, got, want)
			}
		}
		// One that followed another may repeat what that read.
		run := s.answered(first, "shop", "SELECT n FROM orders")
		followed := s.answered(first, "shop", "SELECT n FROM orders")
		for what, run := range map[string]string{
			"a follow-up": followed, "a search": s.answered("", "shop", "-- search orders: n"),
			"a query that is not valid now": s.answered("", "shop", "SELECT n FROM orders WHERE gone = 1"),
		} {
			if got := s.send("alice", http.MethodPost, "/query/runs/"+run+"/share", "", ""); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", what, got.status, got.body)
			}
		}

		// The link holds what is shared now, and no longer than that.
		share := s.share("alice", run)
		s.play(`alice POST /ingest/shop/orders {"data":[{"n":2}]}`)
		if again := s.share("alice", run); again != share {
			t.Errorf("sharing again gives %s, not %s", again, share)
		}
		path := "/query/runs/" + run + "/share"
		links := func(want string) {
			t.Helper()
			if got := s.send("alice", http.MethodGet, path, "", ""); got.status != http.StatusOK || strings.TrimSpace(got.body) != want {
				t.Errorf("the link is %d %s, want %s", got.status, got.body, want)
			}
		}
		links(`{"id":"` + share + `"}`)
		for _, step := range []struct {
			script string
			status int
			want   string
		}{
			{"vi POST " + path, 404, "alice one reading vi"},
			{"vi GET " + path, 404, "alice one reading vi"},
			{"reading GET " + path, 200, "alice one reading vi"},
			{"vi DELETE " + path, 404, "alice one reading vi"},
			{"reading POST " + path, 403, "alice one reading vi"},
			{"reading DELETE " + path, 403, "alice one reading vi"},
			{`alice DELETE /permissions/datasets/alice/shop/orders/shares {"username":"one","role":"viewer"}`, 200, "alice reading vi"},
			{"alice DELETE " + path, 204, ""},
			{"alice DELETE " + path, 404, ""},
		} {
			words := strings.SplitN(step.script, " ", 4)
			if got := s.send(words[0], words[1], words[2], "application/json", strings.Join(words[3:], "")); got.status != step.status {
				t.Errorf("%s: %d %s", step.script, got.status, got.body)
			}
			if got := readers(share); got != step.want {
				t.Errorf("after %s it is read by %q, want %q", step.script, got, step.want)
			}
		}

		links(`{"id":null}`)

		// A dataset of the same name is another one, and what was deleted is nobody's to read.
		linked, old := s.answered("", "shop", "SELECT n FROM orders"), s.answered("", "shop", "SELECT n FROM orders")
		share = s.share("alice", linked)
		s.play("alice DELETE /data/alice/shop/orders\nalice POST /ingest/shop/orders {\"data\":[{\"n\":1}]}")
		if got := readers(share); got != "" {
			t.Errorf("without its data it is read by %q", got)
		}
		for name, run := range map[string]string{"replaced data": old, "replaced data, shared before": linked} {
			if got := s.send("alice", http.MethodPost, "/query/runs/"+run+"/share", "", ""); got.status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		// What a follow-up may repeat does not go with the run that it followed.
		s.send("alice", http.MethodDelete, "/query/runs/"+run, "", "")
		if got := s.send("alice", http.MethodPost, "/query/runs/"+followed+"/share", "", ""); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a follow-up alone: %d %s", got.status, got.body)
		}
		if got := s.send("alice", http.MethodGet, "/shared/x", "", ""); got.status != http.StatusNotFound {
			t.Errorf("no id: %d %s", got.status, got.body)
		}
	})
}

// TestBoards changes how pinned queries are shown, and who watches them.
func TestBoards(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.play(`
alice POST /ingest/shop/orders {"data":[{"n":1}]}
alice POST /permissions/namespaces/alice/shop/shares {"username":"vi","role":"viewer"}
alice POST /boards/alice/shop {"title":"one","question":"One?","query":"SELECT 1"}
alice POST /boards/alice/shop {"title":"two","question":"Two?","query":"SELECT n FROM orders"}
alice POST /boards/alice/shop {"title":"three","question":"Three?","query":"SELECT 3"}`)
		s.saved("alice", "/boards/alice/shop")
		one, two := "/boards/alice/shop/"+s.vars["One?"], "/boards/alice/shop/"+s.vars["Two?"]
		for _, test := range []struct {
			user, method, path, body string
			status                   int
		}{
			{"vi", "PATCH", two, `{"title":"x"}`, http.StatusForbidden},
			{"bob", "PATCH", two, `{"title":"x"}`, http.StatusNotFound},
			{"alice", "PATCH", two, `{"place":-1,"wide":"yes","title":""}`, http.StatusUnprocessableEntity},
			{"alice", "PATCH", two, `{"place":0,"wide":true}`, http.StatusNoContent},
			{"alice", "PATCH", one, `{"title":"the first","place":99}`, http.StatusNoContent},
			{"alice", "PATCH", "/boards/alice/shop/" + uuid.NewString(), `{"place":0}`, http.StatusNotFound},
			{"vi", "PUT", one + "/watch", `{"at":"25:00"}`, http.StatusUnprocessableEntity},
			{"vi", "PUT", one + "/watch", `{"at":"8:00"}`, http.StatusUnprocessableEntity},
			{"alice", "PATCH", two, `{"title":"  "}`, http.StatusUnprocessableEntity},
			{"vi", "PUT", one + "/watch", `{"token":"t"}`, http.StatusUnprocessableEntity},
			{"vi", "PUT", one + "/watch", `{"webhook":"ftp://x"}`, http.StatusUnprocessableEntity},
			{"vi", "PUT", one + "/watch", `{"at":"07:05","webhook":"https://example.com/hook"}`, http.StatusNoContent},
			{"vi", "PUT", two + "/watch", `{}`, http.StatusNoContent},
			{"vi", "DELETE", two + "/watch", ``, http.StatusNoContent},
			{"vi", "DELETE", two + "/watch", ``, http.StatusNotFound},
			{"bob", "PUT", one + "/watch", `{}`, http.StatusNotFound},
		} {
			if got := s.send(test.user, test.method, test.path, "application/json", test.body); got.status != test.status {
				t.Errorf("%s %s %s: %d %s, want %d", test.user, test.method, test.body, got.status, got.body, test.status)
			}
		}
		if got := s.saved("vi", "/boards/alice/shop"); got != "viewer: two Two? = SELECT n FROM orders by alice, three Three? = SELECT 3 by alice, the first One? = SELECT 1 by alice" {
			t.Errorf("vi sees %s", got)
		}
		got := s.send("vi", "GET", "/boards/alice/shop", "", "").body
		if !strings.Contains(got, `"wide":true`) || strings.Count(got, `"watch":`) != 1 || !strings.Contains(got, `"watch":{"at":"07:05","webhook":"https://example.com/hook","askedAt"`) {
			t.Errorf("vi sees %s", got)
		}
		if got := s.send("alice", "GET", "/boards/alice/shop", "", "").body; strings.Contains(got, `"watch"`) {
			t.Errorf("alice sees the watches of others: %s", got)
		}
		// A watch can be ended when its query is not to be seen any more, and the query not be changed.
		s.play(`
vi PUT ` + two + `/watch {}
alice POST /permissions/datasets/alice/shop/orders/rules {"username":"vi","condition":"n = 2"}
alice POST /permissions/namespaces/alice/shop/shares {"username":"vi","role":"editor"}`)
		for _, test := range []struct {
			method, path, body string
			status             int
		}{{"PUT", two + "/watch", `{}`, http.StatusNotFound}, {"PATCH", two, `{"title":"x"}`, http.StatusNotFound}, {"DELETE", two + "/watch", ``, http.StatusNoContent}} {
			if got := s.send("vi", test.method, test.path, "application/json", test.body); got.status != test.status {
				t.Errorf("under a rule, %s %s: %d %s, want %d", test.method, test.path, got.status, got.body, test.status)
			}
		}
	})
}

// TestPeriod reads the rows of some days.
func TestPeriod(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.play(`
alice POST /ingest/shop/cities {"data":[{"city":"Oslo","founded":"1048-01-01"},{"city":"Rome","founded":"0753-01-01"}]}
alice POST /ingest/shop/orders {"data":[{"city":"Oslo","at":"2025-01-31T23:30:00"},{"city":"Rome","at":"2025-02-01T00:00:00"},{"city":"Oslo","at":"2025-02-28T10:00:00"}]}
alice POST /ingest/shop/notes {"data":[{"n":1}]}`)
	for _, test := range []struct{ sql, period, want string }{
		{"SELECT count(*) AS n FROM orders", `{"from":"2025-01-01","to":"2025-01-31"}`, `"n":1`},
		{"SELECT count(*) AS n FROM orders", `{"from":"2025-02-01","to":"2025-02-28"}`, `"n":2`},
		{"SELECT count(*) AS n FROM orders JOIN cities USING (city)", `{"from":"2025-02-01","to":"2025-02-28"}`, `"period":{"dataset":"orders","column":"at"}`},
		{"SELECT count(*) AS n FROM orders JOIN cities USING (city)", `{"from":"2025-02-01","to":"2025-02-28"}`, `"n":2`},
		{"SELECT count(*) AS n FROM notes", `{"from":"2025-02-01","to":"2025-02-28"}`, `"n":1`},
		{"SELECT count(*) AS n FROM orders", `null`, `"n":3`},
		{"SELECT count(*) AS n FROM orders", `{"from":"2025-02-01","to":"tomorrow"}`, `period.to`},
		{"SELECT count(*) AS n FROM orders", `"2025"`, `must be an object`},
	} {
		body := fmt.Sprintf(`{"username":"self","namespace":"shop","query":%q,"period":%s}`, test.sql, test.period)
		if got := s.send("alice", "POST", "/query", "application/json", body); !strings.Contains(got.body, test.want) {
			t.Errorf("%s %s: %d %s, want %s", test.sql, test.period, got.status, got.body, test.want)
		}
	}
	for _, body := range []string{`{"username":"self","namespace":"shop","naturalLanguageQuery":"How many orders are there?","period":{"from":"2025-01-01","to":"2025-01-31"}}`} {
		if got := s.send("alice", "POST", "/query", "application/json", body); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "period") {
			t.Errorf("with a question: %d %s", got.status, got.body)
		}
	}
}
