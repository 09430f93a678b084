package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/jsonscan"
	"parley/internal/jsontext"
)

const (
	// maxBatch limits the requests of a batch.
	maxBatch = 32
	// maxID limits a request's id, which every event repeats, in bytes.
	maxID = 4 << 10
)

// NullID is the id of an answer to a request whose id cannot be read.
var NullID = json.RawMessage("null")

// Request is one JSON-RPC request.
type Request struct {
	// ID is the raw JSON; nil for a notification.
	ID     json.RawMessage
	Method string
	// Params is an object or an array; nil when there are none.
	Params json.RawMessage
	// Legacy says that the method is one of A2A 0.3, which the caller finds out.
	Legacy bool
}

// IsNotification reports whether the request gets no answer.
func (r Request) IsNotification() bool { return r.ID == nil }

func invalidRequest(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidRequest, fmt.Sprintf(format, args...))
}

// ReadEnvelope splits a body into raw requests.
func ReadEnvelope(body []byte) (entries []json.RawMessage, batch bool, err error) {
	if !utf8.Valid(body) {
		return nil, false, a2a.NewError(a2a.ErrParseError, "the request is not UTF-8")
	}
	if !json.Valid(body) {
		return nil, false, a2a.ErrParseError
	}
	body = bytes.TrimLeft(body, " \t\r\n")
	if body[0] != '[' {
		return []json.RawMessage{body}, false, nil
	}
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, true, fmt.Errorf("read batch: %w", err)
	}
	switch {
	case len(entries) == 0:
		return nil, true, invalidRequest("the batch is empty")
	case len(entries) > maxBatch:
		return nil, true, invalidRequest("a batch holds at most %d requests", maxBatch)
	}
	return entries, true, nil
}

// ReadRequest reads one request. An invalid one is always answered, with its id if that
// can be read: it cannot be known to be a notification.
func ReadRequest(entry json.RawMessage) (Request, error) {
	request := Request{ID: NullID}
	if entry[0] != '{' {
		return request, invalidRequest("a request is an object")
	}
	found, err := readMembers(entry)
	if err != nil {
		return request, err
	}
	if found.id != nil {
		if err := checkID(found.id); err != nil {
			return request, err
		}
		found.id = bytes.Clone(found.id) // the rest of the body is not needed as long
		request.ID = found.id
	}
	if string(found.jsonrpc) != `"2.0"` {
		return request, invalidRequest(`jsonrpc must be "2.0"`)
	}
	if len(found.method) == 0 || found.method[0] != '"' {
		return request, invalidRequest("method must be a string")
	}
	request.Method = string(jsonscan.Unquote(found.method))
	if params := found.params; len(params) > 0 && params[0] != 'n' {
		if params[0] != '{' && params[0] != '[' {
			return request, invalidRequest("params must be an object")
		}
		request.Params = params
	}
	request.ID = found.id
	return request, nil
}

// members are the raw members of a request; nil for absent ones.
type members struct{ jsonrpc, id, method, params json.RawMessage }

// readMembers refuses duplicates: parsers differ in which one they take. Those within
// params are refused by protojson.
func readMembers(entry json.RawMessage) (members, error) {
	var found members
	known := map[string]*json.RawMessage{"jsonrpc": &found.jsonrpc, "id": &found.id, "method": &found.method, "params": &found.params}
	for key, value := range jsonscan.Members(entry) {
		member := known[string(key)]
		if member == nil {
			continue
		}
		if *member != nil {
			return found, a2a.NewError(a2a.ErrParseError, "the request has two members of one name")
		}
		*member = value
	}
	return found, nil
}

func checkID(id json.RawMessage) error {
	switch id[0] {
	case '{', '[', 't', 'f':
		return invalidRequest("id must be a string, a number or null")
	}
	if len(id) > maxID {
		return invalidRequest("id is longer than %d bytes", maxID)
	}
	return nil
}

func appendHead(buf []byte, id json.RawMessage) []byte {
	buf = append(buf, `{"jsonrpc":"2.0","id":`...)
	return append(buf, id...)
}

// ResultHead returns the beginning of a response: a result and "}" complete it.
func ResultHead(id json.RawMessage) []byte {
	return append(appendHead(nil, id), `,"result":`...)
}

// ResultResponse returns the response to a request that succeeded.
func ResultResponse(id json.RawMessage, result []byte) []byte {
	buf := appendHead(make([]byte, 0, len(id)+len(result)+48), id)
	buf = append(buf, `,"result":`...)
	buf = append(buf, result...)
	return append(buf, '}')
}

// ErrorResponse returns the response to a request that failed.
func ErrorResponse(id json.RawMessage, failure *Error) []byte { return errorResponse(id, failure) }

// LegacyErrorResponse is ErrorResponse for A2A 0.3, where the data of an error is an object.
func LegacyErrorResponse(id json.RawMessage, failure *Error) []byte {
	return errorResponse(id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{failure.Code, failure.Message, failure.Data[0]})
}

func errorResponse(id json.RawMessage, failure any) []byte {
	text, err := jsontext.Marshal(failure)
	if err != nil {
		// Strings and a number always encode.
		panic(fmt.Errorf("write error: %w", err))
	}
	buf := append(appendHead(nil, id), `,"error":`...)
	return append(append(buf, text...), '}')
}
