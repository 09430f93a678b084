package client

import (
	"encoding/json"
	"slices"
	"testing"

	"parley/cmd/parley/internal/apiclient"
)

// TestReportSuggestions has the questions that a refusal suggests, of both agents.
func TestReportSuggestions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"status": {"message": {"parts": [{"text": "unclear"}, {"data": {"code": "NOT_UNDERSTOOD", "suggestions": ["A", "B"]}}]}}}`,
		`{"artifacts": [{"artifactId": "step-1", "metadata": {"answered": false, "suggestions": ["A", "B"]}}]}`,
	} {
		var task apiclient.Task
		if err := json.Unmarshal([]byte(text), &task); err != nil {
			t.Fatal(err)
		}
		if got := reportOf(&task, nil).Suggestions; !slices.Equal(got, []string{"A", "B"}) {
			t.Errorf("%s: %q", text, got)
		}
	}
}
