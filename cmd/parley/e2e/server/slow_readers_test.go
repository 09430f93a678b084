package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestSlowReadersBlockNobody has four users take all the memory for large answers,
// with clients that read slowly: a fifth reads a large answer all the same.
func TestSlowReadersBlockNobody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "parley-data")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	store := sqlstoretest.Open(t, sqlstore.Config{Path: filepath.Join(data, "parley.db")})
	var paths [5]string
	result := json.RawMessage(`{"response":"` + strings.Repeat("x", 20<<20) + `","steps":[]}`)
	for i := range paths {
		caller, conversation := domain.Caller{Username: fmt.Sprint("user", i)}, uuid.NewString()
		paths[i] = "/api/v1/query/conversations/" + conversation
		err := store.CreateDataset(t.Context(), caller, "shop", "orders", domain.Definition{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := sqlstoretest.Ask(t.Context(), store, caller, domain.Question{ConversationID: conversation,
			Namespace: domain.NamespaceRef{Owner: caller.Username, Name: "shop"}, Agent: "assistant", Text: "How many?"})
		if err == nil {
			err = sqlstoretest.Finish(t.Context(), store, caller, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: result})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	p := e2etest.Serve(t, dir, nil, "--log-level", "error")
	for i, path := range paths[:4] {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+p.Token(fmt.Sprint("user", i)))
		// The headers come with the first bytes of the answer.
		response, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", response, err)
		}
		defer func() { _ = response.Body.Close() }()
		go readSlowly(response.Body)
	}
	if status, body := p.Call(p.Token("user4"), http.MethodGet, paths[4], ""); status != http.StatusOK || len(body) < len(result) {
		t.Errorf("beside slow readers: %d, %d bytes: %.200s", status, len(body), body)
	}
}

// readSlowly reads so much that the client is not cut off at once, until it fails.
func readSlowly(body io.Reader) {
	for range time.Tick(time.Second) {
		if _, err := io.CopyN(io.Discard, body, 256<<10); err != nil {
			return
		}
	}
}
