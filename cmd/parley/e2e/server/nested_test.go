package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestNestedJSON loads a file of tickets with objects, lists and German words, and asks about them
// without a model.
func TestNestedJSON(t *testing.T) {
	t.Parallel()
	s := e2etest.Client{Process: e2etest.Serve(t, t.TempDir(), nil)}
	s.Token = s.Process.Token("alice")
	if status := s.Ask("POST", "/ingest/new/office/tickets", nil, nil); status != http.StatusCreated {
		t.Fatalf("new dataset: %d", status)
	}
	const tickets = `[{"id":1,"requester":{"name":"Ann","country":"Germany"},"tags":["urgent","login"],"open":"ja"},
		{"id":2,"requester":{"name":"Bob","country":"France"},"tags":["billing"],"open":"Nein"},
		{"id":3,"requester":{"name":"Cid","country":"Germany"},"tags":["billing","urgent"],"open":"ja"},
		{"id":4,"requester":null,"tags":[],"open":null}]`
	s.Ingest("office/tickets", s.Upload("tickets.json", int64(len(tickets)), strings.NewReader(tickets)))
	if got := s.Settled("office/tickets")[0]; got.Status != "completed" || got.ProcessedRows != 4 {
		t.Fatalf("ingestion: %+v", got)
	}
	_, profile := s.Call(s.Token, http.MethodGet, "/api/v1/data/self/office/tickets/profile", "")
	for _, want := range []string{`"name":"requester.country","type":"VARCHAR"`, `"name":"open","type":"BOOLEAN"`, `"name":"tags","type":"VARCHAR[]"`, `{"value":"billing","count":2}`} {
		if !strings.Contains(profile, want) {
			t.Errorf("no %s in %s", want, profile)
		}
	}
	_, ingestions := s.Call(s.Token, http.MethodGet, "/api/v1/data/self/office/tickets/ingest/attempts", "")
	if !strings.Contains(ingestions, "ja is read as true and nein as false") {
		t.Errorf("no warning in %s", ingestions)
	}
	// Lists can have more members than there are rows, twice in a row too.
	if status := s.Ask("POST", "/ingest/office/labels", e2etest.Object{"data": []e2etest.Object{{"t": []string{"a", "b", "b", "b"}}}}, nil); status != http.StatusOK {
		t.Errorf("one row with many members: %d", status)
	}
	for _, test := range []struct{ field, text, want string }{
		{"query", `SELECT id FROM tickets WHERE list_contains(tags, 'urgent') AND "requester.country" = 'Germany' AND id > 1`, `"data":[{"id":3,`},
		{"naturalLanguageQuery", "How many tickets are tagged urgent?", `"data":[{"count":2,`},
		{"naturalLanguageQuery", "How many tickets have the tag billing?", `"data":[{"count":2,`},
		{"naturalLanguageQuery", "How many tickets per requester country?", `"requester.country":"Germany"`},
		{"naturalLanguageQuery", "How many tickets are open?", `"data":[{"count":2,`},
	} {
		if answer := askOffice(s, test.field, test.text); !strings.Contains(answer, test.want) {
			t.Errorf("%s: no %s in %s", test.text, test.want, answer)
		}
	}
}
