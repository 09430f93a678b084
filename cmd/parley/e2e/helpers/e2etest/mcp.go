package e2etest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// MCP is a client of the tools of a server.
type MCP struct {
	*mcp.ClientSession
	t       testing.TB
	schemas map[string]*jsonschema.Schema
}

// ToolResult is the result of a tool.
type ToolResult struct {
	Status string
	RunID  string `json:"run_id"`
	Failed struct{ Code, Reason, Query string }
	// All is the structured result, Text the short one.
	All, Text string
	IsError   bool
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// MCP connects to the server's tools with a version of the protocol, "" for the newest.
func (c Client) MCP(version string, options *mcp.ClientOptions) *MCP {
	c.T.Helper()
	return ConnectMCP(c.T, &mcp.StreamableClientTransport{Endpoint: c.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(c.Token)}}, version, options)
}

// ConnectMCP is Client.MCP by another transport.
func ConnectMCP(t testing.TB, transport mcp.Transport, version string, options *mcp.ClientOptions) *MCP {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() })
	m := &MCP{ClientSession: session, t: t, schemas: map[string]*jsonschema.Schema{}}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatalf("list tools: %v", err)
	}
	for _, tool := range tools.Tools {
		if tool.Description == "" || tool.Annotations == nil || tool.InputSchema == nil || tool.OutputSchema == nil {
			t.Errorf("%s is not described: %s", tool.Name, ToJSON(tool))
		}
		m.schemas[tool.Name] = compile(t, tool.Name, tool.OutputSchema)
	}
	return m
}

func compile(t testing.TB, name string, schema any) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(ToJSON(schema)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		t.Fatalf("the schema of %s: %v", name, err)
	}
	return compiled
}

// Tools returns the names of the tools.
func (m *MCP) Tools() (names []string) {
	for name := range m.schemas {
		names = append(names, name)
	}
	return names
}

// Use calls a tool. A result that is not an error must fit the schema of the tool.
func (m *MCP) Use(name string, arguments Object) ToolResult {
	m.t.Helper()
	result, err := m.Try(m.t.Context(), name, arguments)
	if err != nil {
		m.t.Fatalf("%s %s: %v", name, ToJSON(arguments), err)
	}
	return result
}

// Try is Use for a call that may fail.
func (m *MCP) Try(ctx context.Context, name string, arguments Object) (r ToolResult, err error) {
	m.t.Helper()
	result, err := m.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return r, err
	}
	var text bytes.Buffer
	for _, content := range result.Content {
		text.WriteString(content.(*mcp.TextContent).Text)
	}
	r.Text, r.IsError, r.All = text.String(), result.IsError, ToJSON(result.StructuredContent)
	if r.IsError && result.StructuredContent == nil {
		return r, nil
	}
	if r.Text == "" {
		m.t.Errorf("%s has no text: %s", name, r.All)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(r.All))
	if err == nil {
		err = m.schemas[name].Validate(document)
	}
	if err != nil {
		m.t.Errorf("the result of %s does not fit its schema: %v\n%s", name, err, r.All)
	}
	_ = json.Unmarshal([]byte(r.All), &r)
	if failed := r.Status == "failed" && r.Failed.Code != "CANCELED"; failed != r.IsError {
		m.t.Errorf("%s: isError is %t: %s", name, r.IsError, r.All)
	}
	return r, nil
}
