package faults

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

const (
	waits     = `"state":"TASK_STATE_INPUT_REQUIRED"`
	completes = `"state":"TASK_STATE_COMPLETED"`
)

// asking is a server that is killed while its user is asked something.
type asking struct {
	e2etest.Client
	args []string
}

// killed kills the server and starts it again on the same data.
func (a *asking) killed() {
	a.T.Helper()
	a.Signal(syscall.SIGKILL)
	a.Wait()
	a.Process = e2etest.Serve(a.T, a.Dir, a.Env, a.args...)
}

// TestQuestionSurvivesKill kills the server while an agent, or the host itself, waits for an
// answer of its asker, and right after the answer: neither is lost.
func TestQuestionSurvivesKill(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		a := &asking{args: []string{"--log-level", "warn"}}
		a.Process = e2etest.Serve(t, t.TempDir(), append(env, e2etest.ShortLease), a.args...)
		a.Token = a.Process.Token("alice")
		a.NewWorkshop()
		a.NewDataset("shop", "orders")
		about := e2etest.Object{"metadata": e2etest.Object{"namespace": "workshop"}}

		for _, agent := range []string{"nl2ql", "assistant"} {
			// By the task, after a kill.
			asked := a.Say(agent, e2etest.WhichDate, about)
			id, context := e2etest.Field(asked, "id"), e2etest.Field(asked, "contextId")
			before := a.Task(agent, id)
			a.killed()
			if after := a.Task(agent, id); !strings.Contains(before, waits) || after != before {
				t.Fatalf("%s was\n%s\nafter the kill\n%s", agent, before, after)
			}
			if _, run := a.Call(a.Token, http.MethodGet, "/api/v1/query/runs/"+id, ""); !strings.Contains(run, `"inputRequired":{"question":"Which do you mean?"`) {
				t.Errorf("the run does not say what it asks: %s", run)
			}
			if done := a.Say(agent, "done in 2025", e2etest.Object{"taskId": id}); !strings.Contains(done, completes) || !strings.Contains(done, `"count":3`) {
				t.Errorf("%s, answered: %s", agent, done)
			}

			// By the conversation alone, with a kill on either side of the answer.
			next := e2etest.Field(a.Say(agent, e2etest.WhichDate, e2etest.Object{"contextId": context, "metadata": about["metadata"]}), "id")
			a.killed()
			if again := a.Say(agent, "neither", e2etest.Object{"contextId": context}); e2etest.Field(again, "id") != next || !strings.Contains(again, "That is not one of the options.") {
				t.Fatalf("%s, asked again: %s", agent, again)
			}
			a.killed()
			if status, text := a.Post(a.Token, "/api/v1/query/runs/"+next+"/input", `{"option":"2"}`); status != http.StatusAccepted {
				t.Fatalf("input: %d %s", status, text)
			}
			a.killed()
			e2etest.Eventually(t, func() bool { return strings.Contains(a.Task(agent, next), completes) })
			if done := a.Task(agent, next); !strings.Contains(done, `"count":3`) {
				t.Errorf("%s, killed after the answer: %s", agent, done)
			}
		}

		// The host's own question.
		asked := a.Say("nl2ql", "How many work orders are there?", nil)
		if !strings.Contains(asked, waits) {
			t.Fatalf("without a namespace: %s", asked)
		}
		a.killed()
		if done := a.Say("nl2ql", "workshop", e2etest.Object{"taskId": e2etest.Field(asked, "id")}); !strings.Contains(done, completes) || !strings.Contains(done, `"count":4`) {
			t.Errorf("the namespace: %s", done)
		}
	})
}
