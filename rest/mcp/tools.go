package mcp

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/domain"
	"parley/internal/fair"
)

// Limits of what a call takes and returns.
const (
	defaultRows    = 50
	maxRows        = 500
	defaultPreview = 10
	// maxCell limits a cell, in characters.
	maxCell = 1000
	// maxBytes limits the rows or the descriptions of a result, and maxChart a chart, in bytes.
	maxBytes = 128 << 10
	maxChart = 64 << 10
	// defaultWait and maxWait are seconds. Most clients wait for a minute.
	defaultWait = 25
	maxWait     = 50
	// maxListed limits the datasets of a list, maxColumns the columns of a dataset.
	maxListed  = 500
	maxColumns = 200
)

// Types of arguments with a schema of their own.
type (
	rowLimit    int
	offset      int64
	runID       string
	waitSeconds int
	confidence  float64
	status      string
)

const (
	completed  status = "completed"
	working    status = "working"
	needsInput status = "needs_input"
	failed     status = "failed"
)

var idPattern = regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

var schemas = &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[rowLimit]():    {Type: "integer", Minimum: new(1.0), Maximum: new(float64(maxRows))},
	reflect.TypeFor[offset]():      {Type: "integer", Minimum: new(0.0)},
	reflect.TypeFor[runID]():       {Type: "string", Pattern: idPattern.String()},
	reflect.TypeFor[waitSeconds](): {Type: "integer", Minimum: new(0.0), Maximum: new(float64(maxWait))},
	reflect.TypeFor[confidence]():  {Type: "number", Minimum: new(0.0), Maximum: new(1.0)},
	reflect.TypeFor[status]():      {Type: "string", Enum: []any{completed, working, needsInput, failed}},
	// Some clients refuse a schema without a type: that of a chart, and of a cell.
	reflect.TypeFor[any]():             {Type: "object"},
	reflect.TypeFor[json.RawMessage](): {AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "null"}, {Type: "array"}, {Type: "object"}}},
}}

func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](schemas)
	if err != nil {
		panic(err) // of a type in this package
	}
	portable(schema)
	return schema
}

// portable writes a type that may be null as two alternatives, in a schema and those in it: some
// clients refuse a list of types.
func portable(schema *jsonschema.Schema) {
	for _, property := range schema.Properties {
		portable(property)
	}
	for _, inner := range []*jsonschema.Schema{schema.Items, schema.AdditionalProperties} {
		if inner != nil {
			portable(inner)
		}
	}
	if len(schema.Types) == 2 && schema.Types[0] == "null" {
		value := *schema
		value.Type, value.Types, value.Description = schema.Types[1], nil, ""
		*schema = jsonschema.Schema{Description: schema.Description, AnyOf: []*jsonschema.Schema{{Type: "null"}, &value}}
	}
}

// Annotations of tools. All of them work on the user's own data.
func annotations(title string, readOnly, destructive, idempotent bool) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: readOnly, DestructiveHint: &destructive, IdempotentHint: idempotent, OpenWorldHint: new(false)}
}

// call is a tool: it returns the short text of its result, or what it asks the client, and the
// structured result.
type call[In, Out any] func(ctx context.Context, caller domain.Caller, request *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error)

// add adds a tool, whose calls are limited to a time. A short one waits for nothing else.
func add[In, Out any](s *Server, server *sdk.Server, limit time.Duration, short bool, name, description string, hints *sdk.ToolAnnotations, run call[In, Out]) {
	tool := &sdk.Tool{Name: name, Title: hints.Title, Description: description, Annotations: hints, InputSchema: schemaOf[In](), OutputSchema: schemaOf[Out]()}
	if short {
		run = inShortSlot(s, run)
	}
	sdk.AddTool(server, tool, func(ctx context.Context, request *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx, caller, cancel := requestOf(ctx, limit)
		defer cancel()
		result, out, err := run(ctx, caller, request, in)
		if err != nil {
			return nil, out, s.fail(ctx, name, err)
		}
		return result, out, nil
	})
}

// inShortSlot makes a tool that waits for a slot of its caller's short requests.
func inShortSlot[In, Out any](s *Server, run call[In, Out]) call[In, Out] {
	return func(ctx context.Context, caller domain.Caller, request *sdk.CallToolRequest, in In) (_ *sdk.CallToolResult, out Out, err error) {
		release, err := fair.ShortSlot(ctx, s.cfg.Short, caller.Username)
		if err != nil {
			return nil, out, err
		}
		defer release()
		return run(ctx, caller, request, in)
	}
}

func shortText(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// failedText is shortText of a call that did not do what it should.
func failedText(text string) *sdk.CallToolResult {
	result := shortText(text)
	result.IsError = true
	return result
}

func (s *Server) addTools(server *sdk.Server) {
	limit := s.cfg.Timeout
	waiting := limit + maxWait*time.Second
	add(s, server, limit, true, "list_datasets",
		"Lists the datasets that the user can read, with description, number of rows and column names. Call it first to find the namespace and dataset names that the other tools take.",
		annotations("List datasets", true, false, true), s.listDatasets)
	add(s, server, limit, true, "describe_dataset",
		"Describes one dataset: type, unit, missing values, range and frequent values of each column, its relationships to other datasets (for joins), and questions that ask can answer. Call it before you write SQL.",
		annotations("Describe dataset", true, false, true), s.describeDataset)
	add(s, server, waiting, false, "ask",
		"Answers a question in words from the user's datasets. It writes and runs the queries itself, and returns the answer, the queries, their rows and a chart if one helps. "+
			"The status is \"completed\", \"working\" (call get_answer with the run_id), \"needs_input\" (the question has several meanings: call ask with the run_id and the chosen option as the question), or \"failed\" with code and reason. "+
			"A follow-up question takes the conversation_id of the previous answer.",
		annotations("Ask a question", false, false, false), s.ask)
	add(s, server, waiting, false, "get_answer",
		"Returns the answer of a question that ask has started, or its status. It waits for the answer for up to wait_seconds.",
		annotations("Get an answer", true, false, true), s.getAnswer)
	add(s, server, limit, false, "cancel_run",
		"Cancels a question that is being answered. A question that has ended stays as it is.",
		annotations("Cancel a run", false, true, true), s.cancelRun)
	add(s, server, limit, false, "run_sql",
		"Runs one read-only SELECT statement (DuckDB SQL) over the datasets of a namespace, which are its tables, and returns the rows. Nothing can be changed, and no files or addresses can be read. If the status is \"failed\", correct the query by the reason.",
		annotations("Run SQL", true, false, true), s.runSQL)
	add(s, server, limit, false, "preview_rows",
		"Returns rows of a dataset as they are, in pages. Use it to see what values look like.",
		annotations("Preview rows", true, false, true), s.previewRows)
	add(s, server, limit, false, "give_feedback",
		"Records whether the user finds the answer of a completed run right. Call it only when the user says so.",
		annotations("Give feedback", false, false, true), s.giveFeedback)
}
