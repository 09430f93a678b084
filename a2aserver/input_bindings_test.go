package a2aserver

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/storage/sqlstore"
)

var (
	firstTask    = regexp.MustCompile(`"(?:id|taskId)":"([0-9a-f-]{36})"`)
	firstContext = regexp.MustCompile(`"contextId":"([0-9a-f-]{36})"`)
)

// TestBindingsAskBack asks in each binding a question that is asked back, answers it in each,
// by the task and by the context alone, blocking and streaming: the results are the same.
func TestBindingsAskBack(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		b := newBindings(t, newHost(t, store, asking, withCards))
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			for _, by := range []string{"task", "context"} {
				var want []string
				for asker, ask := range allBindings {
					for answerer, answer := range allBindings {
						asked := ask(b, alice, method, messageIn(inMyShop), protocolVersion)
						id, context := firstTask.FindStringSubmatch(asked.String()), firstContext.FindStringSubmatch(asked.String())
						if id == nil || context == nil || !strings.Contains(asked.results[len(asked.results)-1], "TASK_STATE_INPUT_REQUIRED") {
							t.Fatalf("%s, asked by %s: %s", method, asker, asked)
						}
						to := fmt.Sprintf(`"taskId":"%s"`, id[1])
						if by == "context" {
							to = fmt.Sprintf(`"contextId":"%s"`, context[1])
						}
						answered := answer(b, alice, method, messageIn(`"role":"ROLE_USER","parts":[{"text":"red"}],`+to), protocolVersion)
						if last := answered.String(); !strings.Contains(last, "TASK_STATE_COMPLETED") || !strings.Contains(last, id[1]) {
							t.Fatalf("%s, asked by %s, answered by %s, with the %s: %s", method, asker, answerer, by, last)
						}
						got := []string{scrubbed(asker, asked), scrubbed(answerer, answered)}
						if want == nil {
							want = got
						}
						if got[0] != want[0] || got[1] != want[1] {
							t.Errorf("%s, asked by %s, answered by %s, with the %s:\n%s\nelsewhere\n%s", method, asker, answerer, by, got, want)
						}
					}
				}
			}
		}
	})
}
