package replicas

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestAnswerOnAnotherReplica asks one server, which dies, answers on another, and follows on
// a third.
func TestAnswerOnAnotherReplica(t *testing.T) {
	t.Parallel()
	r := e2etest.StartFleet(t, 3)
	at := func(i int) e2etest.Client { return e2etest.Client{Process: r.Now[i].Load(), Token: r.Token} }
	at(0).NewWorkshop()
	for _, agent := range []string{"nl2ql", "assistant"} {
		asked := at(0).Say(agent, e2etest.WhichDate, e2etest.Object{"metadata": e2etest.Object{"namespace": "workshop"}})
		id := e2etest.Field(asked, "id")
		if !strings.Contains(asked, `"state":"TASK_STATE_INPUT_REQUIRED"`) {
			t.Fatalf("asked: %s", asked)
		}
		// Opened while the run waits, and while the server that asked lives.
		followed := at(2).Open(t.Context(), r.Token, "/api/v1/a2a/"+agent, e2etest.RPCBody("SubscribeToTask", `{"id":"`+id+`"}`))
		r.Now[0].Load().Signal(syscall.SIGKILL)
		r.Now[0].Load().Wait()
		done := at(1).Say(agent, "done in 2025", e2etest.Object{"taskId": id})
		if !strings.Contains(done, `"state":"TASK_STATE_COMPLETED"`) || !strings.Contains(done, `"count":3`) {
			t.Errorf("%s, answered on another: %s", agent, done)
		}
		seen, err := io.ReadAll(followed.Body)
		if err != nil || !strings.Contains(string(seen), "TASK_STATE_INPUT_REQUIRED") || !strings.Contains(string(seen), "TASK_STATE_COMPLETED") {
			t.Errorf("%s, followed on a third: %v\n%s", agent, err, seen)
		}
		again := at(2).Say(agent, "opened in 2025", e2etest.Object{"taskId": id})
		if !strings.Contains(again, "-32004") {
			t.Errorf("%s, answered twice: %s", agent, again)
		}
		r.Start(0)
	}
}
