package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestMCPOverStdio uses the tools by the program, in the oldest and the newest version.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	env := []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		m := e2etest.ConnectMCP(t, &mcp.CommandTransport{Command: e2etest.Command(t, t.TempDir(), env, "mcp")}, version, nil)
		if got := m.InitializeResult().ProtocolVersion; got != version || len(m.Tools()) != 8 {
			t.Errorf("version %s with %d tools", got, len(m.Tools()))
		}
		r := m.Use("ask", e2etest.Object{"question": "How many orders are there?"})
		if again := m.Use("get_answer", e2etest.Object{"run_id": r.RunID}); r.Status != "completed" || again.All != r.All || !strings.Contains(r.All, `"rows":[[3]]`) {
			t.Errorf("asked %s\nread %s", r.All, again.All)
		}
		read, err := m.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "parley://alice/shop/orders"})
		if err != nil || !strings.Contains(read.Contents[0].Text, `"row_count":3`) {
			t.Errorf("resource: %v", err)
		}
		if _, err := m.CallTool(t.Context(), &mcp.CallToolParams{Name: "drop ü"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("an unknown tool: %v", err)
		}
	}
	// A data folder needs no server.
	folder := t.TempDir()
	local := e2etest.ConnectMCP(t, &mcp.CommandTransport{Command: e2etest.Command(t, folder, nil, "mcp", "--data", "data", "--user", "ann")}, "", nil)
	if r := local.Use("list_datasets", nil); r.All == "" || strings.Contains(r.All, "INTERNAL") {
		t.Errorf("a data folder: %s", r.All)
	}
	if printed := e2etest.RunCommand(t, folder, nil, "mcp", "--data", "data", "--install", "cursor"); !strings.Contains(printed.Stdout, filepath.Join(folder, "data")) || strings.Contains(printed.Stdout, "PARLEY_SERVER") {
		t.Errorf("its configuration: %s%s", printed.Stdout, printed.Stderr)
	}
	// What a server cannot answer is an error of the call, and the next call is sent again.
	m := e2etest.ConnectMCP(t, &mcp.CommandTransport{Command: e2etest.Command(t, t.TempDir(), env, "mcp")}, "", nil)
	c.Signal(syscall.SIGTERM)
	c.Wait()
	for range 2 {
		if _, err := m.Try(t.Context(), "list_datasets", nil); err == nil || !strings.Contains(err.Error(), "no answer from") {
			t.Errorf("without a server: %v", err)
		}
	}
}

// TestMCPLines sends lines to the program, which answers all before it ends.
func TestMCPLines(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	const list = `{"jsonrpc":"2.0","id":"one","method":"resources/list"}`
	for _, test := range []struct{ token, lines, want string }{
		{c.Token, list, `"uri":"parley://alice/shop/orders"`},
		{c.Token, "\n" + list + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `"id":2,"result":`},
		{c.Token, "nonsense", `"id":null`},
		{c.Token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{"wrong", list, `set PARLEY_TOKEN`},
	} {
		command := e2etest.Command(t, t.TempDir(), []string{"PARLEY_SERVER=" + c.URL + "/", "PARLEY_TOKEN=" + test.token}, "mcp")
		command.Stdin = strings.NewReader(test.lines)
		out, err := command.Output()
		if err != nil || !strings.Contains(string(out), test.want) || test.want == "" && len(out) > 0 {
			t.Errorf("%s: %v\n%s", test.lines, err, out)
		}
	}
	if got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_SERVER=" + c.URL}, "mcp"); got.Code != 3 {
		t.Errorf("without a token: %+v", got)
	}
}

// TestMCPInstall prints and writes the configuration of clients.
func TestMCPInstall(t *testing.T) {
	t.Parallel()
	for client, file := range map[string]string{"claude": ".config/Claude/claude_desktop_config.json", "cursor": ".cursor/mcp.json", "vscode": ".config/Code/User/mcp.json"} {
		home := t.TempDir()
		env := []string{"HOME=" + home, "XDG_CONFIG_HOME=", "PARLEY_SERVER=http://127.0.0.1:1", "PARLEY_TOKEN=secret"}
		path := filepath.Join(home, file)
		printed := e2etest.RunCommand(t, home, env, "mcp", "--install", client)
		if printed.Code != 0 || !strings.Contains(printed.Stderr, path) || e2etest.Exists(home, file) {
			t.Errorf("%s: %+v", client, printed)
		}
		for range 2 { // a file with another server, then its own
			written := e2etest.RunCommand(t, home, env, "mcp", "--install", client, "--write")
			text := e2etest.ReadFile(t, path)
			if written.Code != 0 || text != printed.Stdout {
				t.Errorf("%s, written: %+v\n%s", client, written, text)
			}
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", client, info.Mode(), err)
		}
		type servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
		var config struct{ MCPServers, Servers servers }
		if err := json.Unmarshal([]byte(printed.Stdout), &config); err != nil {
			t.Fatal(err)
		}
		for _, found := range []servers{config.MCPServers, config.Servers} {
			for name, server := range found {
				if name != "parley" || !filepath.IsAbs(server.Command) || strings.Join(server.Args, " ") != "mcp" || server.Env["PARLEY_TOKEN"] != "secret" {
					t.Errorf("%s: %+v", client, server)
				}
			}
		}
		// Other settings stay as they are, and what cannot be read is not replaced.
		for before, after := range map[string]string{
			`{"theme":1e30,"mcpServers":{"other":{}},"servers":{"other":{}}}`: `"theme": 1e30`, `{"servers": // mine` + "\n}": "// mine", `{"servers":[],"mcpServers":[]}`: "[]",
		} {
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			written := e2etest.RunCommand(t, home, env, "mcp", "--install", client, "--write")
			text := e2etest.ReadFile(t, path)
			if !strings.Contains(text, after) || (written.Code == 0) != strings.Contains(text, "secret") || strings.Contains(before, "other") && !strings.Contains(text, `"other"`) {
				t.Errorf("%s: %d %s", before, written.Code, text)
			}
		}
	}
	if got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_TOKEN=x"}, "mcp", "--write"); got.Code != 2 {
		t.Errorf("--write alone: %+v", got)
	}
}
