package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPushAddresses has a server that is set to nothing, and one that is set to call some
// hosts, refuse addresses for push notifications.
func TestPushAddresses(t *testing.T) {
	t.Parallel()
	hook := e2etest.NewWebhook(t, func(int) int { return http.StatusOK })
	for _, server := range []struct {
		args     []string
		problems map[string]string // by URL
	}{
		{nil, map[string]string{
			hook.URL:             "url must use https",
			"https://127.0.0.1/": "url must have a public address",
			"https://[::ffff:169.254.169.254]/latest/meta-data": "url must have a public address",
			"https://localhost/": "url must have a public host",
		}},
		{[]string{"--push-hosts", "hooks.example.com,*.example.org"}, map[string]string{
			"https://example.org/": "url must have a host that this server may call",
		}},
	} {
		p := e2etest.Serve(t, t.TempDir(), nil, server.args...)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.NewDataset("shop", "orders")
		asked, _ := c.SendMessage("nl2ql", e2etest.Message(`"metadata":{"namespace":"shop"}`))
		for url, problem := range server.problems {
			params := e2etest.ToJSON(e2etest.Object{"taskId": asked.Task, "url": url})
			_, answer := c.Call(c.Token, "POST", "/api/v1/a2a/nl2ql", e2etest.RPCBody("CreateTaskPushNotificationConfig", params))
			if !strings.Contains(answer, problem) || !strings.Contains(answer, `"code":-32602`) {
				t.Errorf("%v, %s: %s", server.args, url, answer)
			}
		}
	}
	if hook.Count() != 0 {
		t.Errorf("%d requests came through", hook.Count())
	}
}

// TestPushSettings has the program say what is wrong with the settings of push notifications,
// without repeating a secret.
func TestPushSettings(t *testing.T) {
	t.Parallel()
	got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_ENCRYPTION_KEY=too-short"},
		"serve", "--push-hosts", "https://example.com", "--push-insecure=perhaps")
	for _, problem := range []string{
		"--push-hosts (PARLEY_PUSH_HOSTS) must be names of hosts",
		"--push-insecure (PARLEY_PUSH_INSECURE) must be true or false", "--encryption-key (PARLEY_ENCRYPTION_KEY) must have 32 bytes or more",
	} {
		if got.Code == e2etest.ExitOK || !strings.Contains(got.Stderr, problem) {
			t.Errorf("%q is missing in:\n%s", problem, got.Stderr)
		}
	}
	if strings.Contains(got.Stderr, "too-short") {
		t.Errorf("the key is repeated:\n%s", got.Stderr)
	}
}
