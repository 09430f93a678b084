package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
)

// scriptedModelCheck knows all models but the one that is called unset.
func scriptedModelCheck(_, model string) []domain.FieldError {
	if model != "unset" {
		return nil
	}
	return []domain.FieldError{{Field: "model", Message: "is not set here; there is reader"}}
}

// scriptedDescription says how much it was given, but for a model that is called down.
func scriptedDescription(_ context.Context, sample []json.RawMessage, current domain.Definition, provider, model string) (domain.Definition, error) {
	if model == "down" {
		return domain.Definition{}, domain.Errorf(domain.ErrUnavailable, "the language model cannot be reached: %s gives no connection", model)
	}
	text := fmt.Sprintf("%d rows by %q of %q", len(sample), model, provider)
	if current.Description != nil {
		text = *current.Description + ": " + text
	}
	found := domain.Definition{Description: &text, Schema: map[string]string{"name": "a text"}}
	for name, description := range current.Schema {
		found.Schema[name] = description
	}
	return found, nil
}

func TestInferLimits(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	rows := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, n), ",") + "]" }
	for _, path := range []string{"/infer/description", "/infer/schema"} {
		if got := s.send("alice", "POST", path, "application/json", `{"sample":`+rows(1000)+`}`); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		s.checkError(path, s.send("alice", "POST", path, "application/json", `{"sample":`+rows(1001)+`}`), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
		long := `{"sample":[{"a":"` + strings.Repeat("x", 1<<20) + `"}]}`
		s.checkError(path, s.send("alice", "POST", path, "application/json", long), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
	}
	got := s.send("alice", "POST", "/infer/preview", "application/json", `{"data":`+rows(1000)+`}`)
	if got.status != http.StatusOK || strings.TrimSpace(got.body) != rows(1000) {
		t.Errorf("preview: %d %s", got.status, got.body)
	}
	s.checkError("preview", s.send("alice", "POST", "/infer/preview", "application/json", `{"data":`+rows(1001)+`}`), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
}
