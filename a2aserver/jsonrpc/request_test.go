package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestReadEnvelope(t *testing.T) {
	t.Parallel()
	many := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("{},", n), ",") + "]" }
	for body, want := range map[string]struct {
		entries int
		batch   bool
		err     error
	}{
		"":                     {err: a2a.ErrParseError},
		" \n":                  {err: a2a.ErrParseError},
		"{} {}":                {err: a2a.ErrParseError},
		"{\"a\":\"\xff\"}":     {err: a2a.ErrParseError},
		"\ufeff{}":             {err: a2a.ErrParseError},
		"[]":                   {batch: true, err: a2a.ErrInvalidRequest},
		many(maxBatch + 1):     {batch: true, err: a2a.ErrInvalidRequest},
		many(maxBatch):         {entries: maxBatch, batch: true},
		" [ 1 , null, [] ]":    {entries: 3, batch: true},
		"\r\n\t{\"a\": [{}]} ": {entries: 1},
		"7":                    {entries: 1},
	} {
		entries, batch, err := ReadEnvelope([]byte(body))
		if len(entries) != want.entries || batch != want.batch || !errors.Is(err, want.err) || (err == nil) != (want.err == nil) {
			t.Errorf("%.40q: %d entries, batch %v, %v", body, len(entries), batch, err)
		}
	}
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", maxID) + `"`
	for entry, want := range map[string]string{ // id, method and params, or id and error
		`7`:                                      "null: a request is an object",
		`[]`:                                     "null: a request is an object",
		`{}`:                                     `null: jsonrpc must be "2.0"`,
		`{"jsonrpc":2.0,"id":1,"method":"m"}`:    `1: jsonrpc must be "2.0"`,
		`{"jsonrpc":"2.0","id":{},"method":"m"}`: "null: id must be a string, a number or null",
		`{"jsonrpc":"2.0","id":true,"method":"m"}`:                       "null: id must be a string, a number or null",
		`{"jsonrpc":"2.0","id":` + long + `,"method":"m"}`:               "null: id is longer than 4096 bytes",
		`{"jsonrpc":"2.0","id":"a"}`:                                     `"a": method must be a string`,
		`{"jsonrpc":"2.0","id":"a","method":null}`:                       `"a": method must be a string`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"p"}`:             "1: params must be an object",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`:                   "null: the request has two members of one name",
		`{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}`:        "null: the request has two members of one name",
		`{"jsonrpc":"2.0","method":"m"}`:                                 " m ",
		`{"jsonrpc":"2.0","id":null,"method":"m","params":null}`:         "null m ",
		`{"jsonrpc":"2.0","id":1e2,"method":"a\u002fb","params":[1]}`:    "1e2 a/b [1]",
		`{"other":1,"jsonrpc":"2.0","id":"","method":"","params": {} }`:  `""  {}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":1,"id":2}}`: `1 m {"id":1,"id":2}`, // left to the reader of params
	} {
		request, err := ReadRequest(json.RawMessage(entry))
		got := fmt.Sprintf("%s %s %s", request.ID, request.Method, request.Params)
		if err != nil {
			got = fmt.Sprintf("%s: %s", request.ID, ToError(err).Message)
		}
		if got != want || request.IsNotification() != strings.HasPrefix(want, " ") {
			t.Errorf("%.80s: %q, want %q", entry, got, want)
		}
	}
}

// FuzzRead reads any body: a request is refused, or its answer is valid JSON with its id.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`[{"jsonrpc":"2.0","id":"a\"","method":"m","params":{}},7]`))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"\\ud800\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		entries, _, err := ReadEnvelope(body)
		if err != nil {
			return
		}
		for _, entry := range entries {
			request, err := ReadRequest(entry)
			if request.IsNotification() {
				continue
			}
			answers := [][]byte{ResultResponse(request.ID, []byte("{}")), append(ResultHead(request.ID), "{}}"...)}
			if err != nil {
				answers = [][]byte{ErrorResponse(request.ID, ToError(err)), LegacyErrorResponse(request.ID, ToError(err))}
			}
			for _, text := range answers {
				var answer struct{ ID json.RawMessage }
				if err := json.Unmarshal(text, &answer); err != nil || string(answer.ID) != string(request.ID) {
					t.Errorf("%s answers %s: %v", text, entry, err)
				}
			}
		}
	})
}
