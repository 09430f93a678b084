package rest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
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
