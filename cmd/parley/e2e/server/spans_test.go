package server

import (
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/tracetest"
)

// TestSpans has the program trace two runs: one that its model answers, and one
// whose query is refused.
func TestSpans(t *testing.T) {
	t.Parallel()
	langfuse := tracetest.NewLangfuse(t)
	model := e2etest.NewModel(t,
		e2etest.Queries("How many orders", "", "SELECT count(*) AS n FROM orders"),
		e2etest.Queries("passwords", "", "SELECT * FROM read_csv('/etc/passwd')"),
	)
	s := e2etest.ServeShop(t, append(model.Env(),
		"LANGFUSE_HOST="+langfuse.URL, "LANGFUSE_PUBLIC_KEY="+tracetest.PublicKey, "LANGFUSE_SECRET_KEY="+tracetest.SecretKey))
	runs := map[string]string{} // the trace of each, and how it ended
	for question, status := range map[string]string{"How many orders are there?": "completed", "Read the passwords": "failed"} {
		_, stream := s.Post(s.Token, "/api/v1/a2a/nl2ql", e2etest.A2ABody("SendStreamingMessage", question, ""))
		runs[strings.ReplaceAll(e2etest.Field(stream, "taskId"), "-", "")] = status
	}
	s.Signal(syscall.SIGTERM) // the last spans are sent
	if code := s.Wait(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	kinds := map[string]int{}
	for _, span := range langfuse.Spans() {
		status, known := runs[span.TraceID]
		if !known {
			t.Errorf("a span of no run: %+v", span)
		}
		operation, _, _ := strings.Cut(span.Name, " ")
		kinds[operation]++
		if operation == "invoke_agent" && (span.Attributes["parley.run.status"] != status || span.Failed != (status == "failed")) {
			t.Errorf("a run that has %s: %+v", status, span)
		}
		if operation == "chat" && span.Attributes["gen_ai.usage.input_tokens"] != int64(7) {
			t.Errorf("a model's span: %+v", span)
		}
	}
	if kinds["invoke_agent"] != 2 || kinds["chat"] < 2 || kinds["execute_tool"] < 2 {
		t.Errorf("spans: %v", kinds)
	}
}
