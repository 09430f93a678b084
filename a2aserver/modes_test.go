package a2aserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
)

// talkative has an artifact and a status of each kind of part.
var talkative script = func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	data := func() *a2a.Part { return a2a.NewDataPart(json.RawMessage(`{"n":1}`)) }
	markdown := a2a.NewTextPart("**both**")
	markdown.MediaType = "text/markdown"
	plan := a2a.NewMessageForTask(a2a.MessageRoleAgent, request, a2a.NewTextPart("plan"), data())
	_ = yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateWorking, plan), nil) &&
		yield(artifact(request, "both", markdown, data()), nil) &&
		yield(artifact(request, "query", a2a.NewTextPart("SELECT 1")), nil) &&
		yield(artifact(request, "rows", data()), nil) &&
		yield(completed(request), nil)
}

// Answers and streams have the parts that were asked for, and no empty artifact; the
// stored task has all.
func TestAcceptedOutputModes(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, talkative))
	for modes, want := range map[string][4]string{
		`[]`: {`[{"text":"plan"},{"data":{"n":1}}]`, `[{"text":"**both**","mediaType":"text/markdown"},{"data":{"n":1}}]`, `[{"text":"SELECT 1"}]`, `[{"data":{"n":1}}]`},
		`["text/plain"]`: {`[{"text":"plan"}]`, `[{"text":"**both**","mediaType":"text/plain"}]`, `[{"text":"SELECT 1"}]`,
			`[{"text":"{\"n\":1}","mediaType":"text/plain"}]`},
		`["text/markdown"]`: {`[{"text":"plan"}]`, `[{"text":"**both**","mediaType":"text/markdown"}]`, `[{"text":"SELECT 1"}]`,
			`[{"text":"{\"n\":1}","mediaType":"text/plain"}]`},
		`["data"]`: {`[{"data":{"n":1}}]`, `[{"data":{"n":1}}]`, `[{"data":{"text":"SELECT 1"},"mediaType":"application/json"}]`, `[{"data":{"n":1}}]`},
	} {
		params := `{"message":{"messageId":"m","role":"ROLE_USER","metadata":{"namespace":"shop"},"parts":[{"text":"?"}]},"configuration":{"acceptedOutputModes":` + modes + `}}`
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			response := postAs(t, server, alice, rpc("1", method, strings.Replace(params, `"m"`, toText(t, method+modes), 1)))
			body, _ := io.ReadAll(response.Body)
			for _, parts := range want {
				if !strings.Contains(string(body), `"parts":`+parts) {
					t.Errorf("%s for %s: no %s in %s", method, modes, parts, body)
				}
			}
		}
	}
	response := postAs(t, server, alice, rpc("1", "ListTasks", `{"includeArtifacts":true}`))
	if body, _ := io.ReadAll(response.Body); strings.Count(string(body), `{"n":1}`) != strings.Count(string(body), "**both**")*3 {
		t.Errorf("stored: %s", body)
	}
}

// Text as data is an object also in 0.3, whose conversion wraps what it does not take for one.
func TestAcceptedOutputModesOfLegacyClients(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, talkative))
	for _, method := range []string{"message/send", "message/stream"} {
		params := strings.TrimSuffix(legacyMessage(), "}") + `,"configuration":{"acceptedOutputModes":["application/json"],"blocking":true}}`
		body := textOf(t, postAs(t, server, alice, rpc("1", method, params)))
		if !strings.Contains(body, `"data":{"text":"SELECT 1"}`) || strings.Contains(body, `"value"`) {
			t.Errorf("%s: %s", method, body)
		}
	}
}
