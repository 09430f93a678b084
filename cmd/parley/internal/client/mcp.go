package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/cmd/parley/internal/serve"
)

// MCP is `parley mcp`.
type MCP struct {
	Install string `env:"-" default:"none" enum:"none,claude,cursor,vscode" placeholder:"CLIENT" help:"Print the configuration for a client instead: claude, cursor or vscode. It has your token."`
	Write   bool   `env:"-" help:"With --install, write the configuration to the client's file."`
	Data    string `env:"-" placeholder:"DIR" help:"Serve this data folder in place of calling a server."`
	User    string `env:"-" placeholder:"NAME" help:"The user, with --data (by default, your name on this machine)."`
	connectionSettings
	serve.ModelSettings
}

// localTokenLife is how long a client can run with a data folder.
const localTokenLife = 365 * 24 * time.Hour

// Run forwards messages between a client, at standard input and output, and the server, up to the
// end of standard input.
func (m *MCP) Run(ctx context.Context, env command.Env) (err error) {
	c := env.NewChecker()
	if m.Write && m.Install == "none" {
		c.Refuse("write", "needs --install")
	}
	m.User = cmp.Or(m.User, serve.LocalUser())
	var client *apiclient.Client
	if m.Data == "" {
		client, err = m.connect(c)
	} else {
		err = c.Err()
	}
	switch {
	case err != nil:
		return err
	case m.Install != "none":
		return m.install(env, m.Write)
	case m.Data != "":
		server, err := serve.Local(m.ModelSettings)
		if err != nil {
			return err
		}
		server.Listen, server.Data, server.LogLevel = "127.0.0.1:0", m.Data, slog.LevelWarn
		running, err := server.Start(ctx, command.Env{Stdout: env.Stderr, Stderr: env.Stderr}) // messages alone are written to standard output
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, running.Stop()) }()
		token, err := serve.LocalToken(m.Data, m.User, localTokenLife)
		if err != nil {
			return err
		}
		client = apiclient.New(running.URL, token, connections)
	}
	b := &bridge{client: client, out: env.Stdout}
	ended := make(chan error, 1)
	go func() { ended <- b.serve(ctx, os.Stdin) }() // ends with the process, if no line comes
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return command.ErrInterrupted
	}
}

// Limits of what a client sends.
const (
	// maxMessage is more than any server accepts, in bytes.
	maxMessage = 16 << 20
	maxCalls   = 32
)

// bridge forwards messages to a server.
type bridge struct {
	client *apiclient.Client

	mu  sync.Mutex
	out io.Writer
	// version is the one that the server has chosen for a client that initializes.
	version string
}

// message has what is needed to forward a message.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name, URI string
		Meta      map[string]any `json:"_meta"`
	}
}

// serve forwards messages, one in each line, until there are no more, and all have a response.
func (b *bridge) serve(ctx context.Context, in io.Reader) error {
	var calls errgroup.Group
	calls.SetLimit(maxCalls)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		var m message
		switch err := json.Unmarshal(line, &m); {
		case len(line) == 0:
		case err != nil && m.ID == nil:
			b.send(failure(json.RawMessage("null"), fmt.Errorf("the message cannot be read: %w", err)))
		case m.Method == "initialize":
			b.forward(ctx, m, line) // later messages have the version of its response
		case m.Method != "": // the server asks nothing: there are no responses
			calls.Go(func() error {
				b.forward(ctx, m, line)
				return nil
			})
		}
	}
	_ = calls.Wait() // which never fails
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}

// forward sends a message to the server, and the response to the client.
func (b *bridge) forward(ctx context.Context, m message, line []byte) {
	version, _ := m.Params.Meta["io.modelcontextprotocol/protocolVersion"].(string)
	b.mu.Lock()
	version = cmp.Or(version, b.version)
	b.mu.Unlock()
	header := http.Header{}
	for name, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": m.Method, "Mcp-Name": cmp.Or(m.Params.Name, m.Params.URI)} {
		if value != "" {
			header.Set(name, value)
		}
	}
	response, err := b.client.MCP(ctx, header, line)
	var read struct {
		Result struct{ ProtocolVersion string }
	}
	if m.Method == "initialize" {
		_ = json.Unmarshal(response, &read) // an error has none
	}
	b.mu.Lock()
	b.version = cmp.Or(read.Result.ProtocolVersion, b.version)
	b.mu.Unlock()
	if err != nil {
		response = failure(m.ID, err)
	}
	if m.ID != nil { // a notification has no response
		b.send(response)
	}
}

// failure returns the response to a call that the server did not answer.
func failure(id json.RawMessage, err error) []byte {
	const internal = -32603
	text := err.Error()
	if apiclient.Status(err) == http.StatusUnauthorized {
		text += "; set PARLEY_TOKEN to a valid token, or run `parley login`"
	}
	response, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": internal, "message": text}}) // of texts alone
	return response
}

// send writes a message to the client. If it is gone, standard input ends.
func (b *bridge) send(message []byte) {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return // empty
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.out.Write(line.Bytes())
}

// install prints the configuration for a client, or writes it to the client's file.
func (m *MCP) install(env command.Env, write bool) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	settings, args := map[string]string{}, []string{"mcp"}
	if m.Data != "" {
		folder, err := filepath.Abs(m.Data)
		if err != nil {
			return fmt.Errorf("find the data folder: %w", err)
		}
		args = append(args, "--data", folder, "--user", m.User)
	} else {
		settings["PARLEY_SERVER"] = m.Server
		if token := strings.TrimSpace(m.Token); token != "" { // a login is renewed
			settings["PARLEY_TOKEN"] = token
		}
	}
	server := map[string]any{"command": program, "args": args, "env": settings}
	member := "mcpServers"
	if m.Install == "vscode" {
		member, server["type"] = "servers", "stdio"
	}
	path, err := configFile(m.Install)
	if err != nil {
		return err
	}
	config, servers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if write {
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			text = []byte("{}")
		case err != nil:
			return fmt.Errorf("read the configuration: %w", err)
		}
		err = json.Unmarshal(text, &config)
		if err == nil && config[member] != nil {
			err = json.Unmarshal(config[member], &servers)
		}
		if err != nil || config == nil || servers == nil {
			return fmt.Errorf("%s is not plain JSON: add what `parley mcp --install %s` prints by hand", path, m.Install)
		}
	}
	servers["parley"], _ = json.Marshal(server) // texts, and JSON that was read: none can fail
	config[member], _ = json.Marshal(servers)
	text, _ := json.MarshalIndent(config, "", "  ")
	text = append(text, '\n')
	if !write {
		fmt.Fprintf(env.Stderr, "add this to %s:\n", path)
		_, err := env.Stdout.Write(text)
		return err
	}
	// Only its owner can read it: it has a token.
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = datadir.WriteFile(path, text)
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err = fmt.Fprintf(env.Stderr, "written to %s; start the client again\n", path)
	return err
}

// configFile returns the file where a client reads its configuration.
func configFile(client string) (string, error) {
	home, err := os.UserHomeDir()
	if client == "cursor" {
		return filepath.Join(home, ".cursor", "mcp.json"), err
	}
	folder, err := os.UserConfigDir()
	if client == "claude" {
		return filepath.Join(folder, "Claude", "claude_desktop_config.json"), err
	}
	return filepath.Join(folder, "Code", "User", "mcp.json"), err
}
