package a2ajson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/internal/domain"
)

// Timestamps have three decimals, also where they are zero.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"2026-01-02T03:04:05Z": "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.1Z": "2026-01-02T03:04:05.100Z",
		"2026-01-02T04:04:05.1239+01:00": "2026-01-02T03:04:05.123Z",
	} {
		task, err := ReadTask(domain.Task{Snapshot: json.RawMessage(`{"status":{"state":"TASK_STATE_WORKING","timestamp":"` + given + `"}}`)})
		text, encodeErr := AppendTask(nil, task)
		if err := errors.Join(err, encodeErr); err != nil || !strings.Contains(string(text), `"timestamp":"`+want+`"`) {
			t.Errorf("%s: %s, %v", given, text, err)
		}
	}
}
