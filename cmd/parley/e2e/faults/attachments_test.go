package faults

import (
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/domain"
)

// TestAttachmentSurvivesKill kills the server while it makes a dataset of a file: as soon as
// the task is there, while the file is read, and when its rows are being stored. The question
// is answered all the same, with all rows, once.
func TestAttachmentSurvivesKill(t *testing.T) {
	t.Parallel()
	const rows = 100_000
	file := base64.StdEncoding.EncodeToString([]byte(e2etest.CSV(rows)))
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		a := &asking{args: []string{"--log-level", "warn"}}
		a.Process = e2etest.Serve(t, t.TempDir(), append(env, e2etest.ShortLease), a.args...)
		a.Token = a.Process.Token("alice")
		stored := func() int {
			files, _ := filepath.Glob(filepath.Join(a.Dir, "parley-data", "objects", "objects", "attachments", "*", "*.parquet"))
			return len(files)
		}
		for moment, reached := range map[string]func(before int) bool{
			"accepted": func(int) bool { return true },
			"reading":  func(int) bool { return len(e2etest.Children(t, a.Cmd.Process.Pid)) > 0 },
			"storing":  func(before int) bool { return stored() > before },
		} {
			before := stored()
			status, answer := a.Post(a.Token, "/api/v1/a2a/nl2ql", e2etest.ToJSON(e2etest.Object{
				"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": e2etest.Object{
					"configuration": e2etest.Object{"returnImmediately": true},
					"message": e2etest.Object{
						"messageId": domain.NewID(), "contextId": moment, "role": "ROLE_USER",
						"parts": []e2etest.Object{{"text": "How many people are there?"}, {"raw": file, "filename": "people.csv"}},
					},
				},
			}))
			id := e2etest.Field(answer, "id")
			if status != http.StatusOK || id == "" {
				t.Fatalf("%s: %d %s", moment, status, answer)
			}
			e2etest.Eventually(t, func() bool { return reached(before) || strings.Contains(a.Task("nl2ql", id), completes) })
			a.killed()
			e2etest.Eventually(t, func() bool { return strings.Contains(a.Task("nl2ql", id), completes) })
			if task := a.Task("nl2ql", id); !strings.Contains(task, `"count":100000`) {
				t.Errorf("%s: %s", moment, task)
			}
			if next := a.Say("nl2ql", "How many people are there?", e2etest.Object{"contextId": moment}); !strings.Contains(next, `"count":100000`) {
				t.Errorf("%s, asked again: %s", moment, next)
			}
		}
	})
}
