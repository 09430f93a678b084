package a2aserver

import (
	"net/http"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
)

// The response names the extensions that were asked for and that the agent has, in each
// binding.
func TestActivatedExtensions(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.DefaultAgent = "echo"
		cfg.Agents[0].Card = func(string) *a2a.AgentCard {
			return &a2a.AgentCard{Capabilities: a2a.AgentCapabilities{Extensions: []a2a.AgentExtension{{URI: "urn:one"}, {URI: "urn:two"}, {URI: "urn:three"}}}}
		}
	})
	server, client := serveHost(t, h), serveGRPC(t, h)
	calls := map[string]func(requested string) string{
		"JSON-RPC": func(requested string) string {
			return postAs(t, server, alice, rpcText("ListTasks", map[string]any{}), a2a.SvcParamExtensions, requested).Header.Get(a2a.SvcParamExtensions)
		},
		"stream": func(requested string) string {
			return postAs(t, server, alice, rpcText("SendStreamingMessage", toShop("how many?")), a2a.SvcParamExtensions, requested).Header.Get(a2a.SvcParamExtensions)
		},
		"error": func(requested string) string {
			return postAs(t, server, alice, rpcText("GetTask", map[string]any{}), a2a.SvcParamExtensions, requested).Header.Get(a2a.SvcParamExtensions)
		},
		"0.3": func(requested string) string {
			return postAs(t, server, alice, rpcText("tasks/list", map[string]any{}), a2a.SvcParamExtensions, requested).Header.Get(a2a.SvcParamExtensions)
		},
		"HTTP+JSON": func(requested string) string {
			return sendAs(t, server, alice, http.MethodGet, "/tasks", "", a2a.SvcParamExtensions, requested).Header.Get(a2a.SvcParamExtensions)
		},
		"gRPC": func(requested string) string {
			var header metadata.MD
			if _, err := client.ListTasks(grpcAs(t, alice, a2a.SvcParamExtensions, requested), &a2apb.ListTasksRequest{}, grpc.Header(&header)); err != nil {
				t.Error(err)
			}
			return append(header.Get(a2a.SvcParamExtensions), "")[0]
		},
		"stream of gRPC": func(requested string) string {
			stream, err := client.SendStreamingMessage(grpcAs(t, alice, a2a.SvcParamExtensions, requested), askShop(t))
			if err != nil {
				t.Fatal(err)
			}
			header, err := stream.Header()
			if err != nil {
				t.Error(err)
			}
			return append(header.Get(a2a.SvcParamExtensions), "")[0]
		},
	}
	for binding, call := range calls {
		for requested, want := range map[string]string{
			"urn:three, urn:other,urn:one": "urn:one, urn:three", "urn:two": "urn:two", "urn:other": "", "urn:on": "", "": "",
		} {
			if got := call(requested); got != want {
				t.Errorf("%s: %q activated %q, want %q", binding, requested, got, want)
			}
		}
	}
}
