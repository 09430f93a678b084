package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestNamesAreNoLinks has names and cells that are Markdown. No answer has them as such.
func TestNamesAreNoLinks(t *testing.T) {
	t.Parallel()
	s := e2etest.Shop(t)
	const image = "![x](https://evil.example/i.png)"
	rows := []e2etest.Object{{"id": 1, image: "[click](https://evil.example/a)", "city": image}, {"id": 2, image: "b", "city": "Rome"}}
	if status := s.Ask("POST", "/ingest/shop/things", e2etest.Object{"displayName": image, "data": rows}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	for _, question := range []string{"blah foo", "What data is there?", "How many things are in Paris?", "What is the average city of things?", "thanks", "List the things"} {
		var answer struct{ Response, Message string }
		s.Ask("POST", "/query/autorag", e2etest.Object{"username": "alice", "namespace": "shop", "query": question, "agent": "assistant"}, &answer)
		if text := answer.Response + answer.Message; text == "" || strings.Contains(text, "](") || strings.Contains(text, "//evil") {
			t.Errorf("%s: %q", question, text)
		}
	}
}

// TestSharedAnswersNameNothing shares an answer that names another dataset by a part of its name, and
// as its owner calls it, with somebody who may not read that.
func TestSharedAnswersNameNothing(t *testing.T) {
	t.Parallel()
	s := e2etest.Client{Process: e2etest.Serve(t, t.TempDir(), nil)}
	s.Token = s.Process.Token("alice")
	bob := e2etest.Client{Process: s.Process, Token: s.Process.Token("bob")}
	rows := []e2etest.Object{{"id": 1, "city": "Rome", "amount": 5}, {"id": 2, "city": "Oslo", "amount": 7}}
	for name, called := range map[string]any{"people": nil, "zq_secret_rows": nil, "hidden": "Quokkas"} {
		s.Ask("POST", "/ingest/lab/"+name, e2etest.Object{"displayName": called, "data": rows}, nil)
	}
	s.Ask("POST", "/permissions/datasets/self/lab/people/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil)
	shared := 0
	for _, question := range []string{"How many people are there?", "total amount", "average amount per city", "What is the total amount of people?"} {
		var answer struct{ RunID, Response string }
		s.Ask("POST", "/query/autorag", e2etest.Object{"username": "alice", "namespace": "lab", "query": question, "agent": "assistant", "minConfidence": 0.1}, &answer)
		var link struct{ ID string }
		if s.Ask("POST", "/query/runs/"+answer.RunID+"/share", nil, &link); link.ID == "" {
			continue
		}
		text := strings.ToLower(answer.Response)
		names := strings.Contains(text, "secret") || strings.Contains(text, "quokka")
		status := bob.Ask("GET", "/shared/"+link.ID, nil, nil)
		if names != (status == http.StatusNotFound) {
			t.Errorf("%s: bob gets %d for %q", question, status, answer.Response)
		}
		shared++
	}
	if shared == 0 {
		t.Error("no answer was shared")
	}
}
