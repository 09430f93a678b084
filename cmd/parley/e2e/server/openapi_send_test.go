package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// request is what is sent; answer is what came back.
type request struct {
	params    map[string]string
	query     string
	url       string
	example   string
	set       e2etest.Object
	header    http.Header
	mediaType string
	body      *string
	begun     func()
}

type answer struct {
	header http.Header
	text   []byte
	// value is the body, where it is JSON; the events, where it is a stream.
	value any
}

// into reads a body that is JSON.
func (a answer) into(t *testing.T, value any) {
	t.Helper()
	if err := json.Unmarshal(a.text, value); err != nil {
		t.Fatalf("%v: %s", err, a.text)
	}
}

// change changes what is sent from what the description has as its example.
type change func(*request)

// param fills in a parameter of the path, query adds to the address, to is a
// whole address.
func param(name, value string) change { return func(r *request) { r.params[name] = value } }

func query(text string) change { return func(r *request) { r.query = text } }

func to(address string) change { return func(r *request) { r.url = address } }

func header(name, value string) change { return func(r *request) { r.header.Set(name, value) } }

// example takes another example, set changes members of it, sent sends something
// else.
func example(name string) change { return func(r *request) { r.example = name } }

func set(members e2etest.Object) change {
	return func(r *request) {
		all := maps.Clone(members)
		for name, value := range r.set {
			if _, again := all[name]; !again {
				all[name] = value
			}
		}
		r.set = all
	}
}

func sent(mediaType, text string) change {
	return func(r *request) { r.mediaType, r.body = mediaType, &text }
}

// whenBegun does something once the answer has begun.
func whenBegun(do func()) change { return func(r *request) { r.begun = do } }

// call sends an operation, as "user operation status" says, with "-" for nobody.
// What is sent is the example in the description, but for the changes. The
// answer must be as it is described.
func (d *described) call(line string, changes ...change) answer {
	d.t.Helper()
	words := strings.Fields(line)
	op, ok := d.operations[words[1]]
	if !ok {
		d.t.Fatalf("%s is not described", words[1])
	}
	want, err := strconv.Atoi(words[2])
	if err != nil {
		d.t.Fatal(err)
	}
	r := &request{params: map[string]string{}, header: http.Header{}}
	for _, apply := range changes {
		apply(r)
	}
	response := d.send(op, r, words[0], want)
	defer func() { _ = response.Body.Close() }()
	if r.begun != nil {
		r.begun()
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatalf("%s: %v", line, err)
	}
	got := answer{header: response.Header, text: text}
	if response.StatusCode != want {
		d.t.Fatalf("%s: %d %s", line, response.StatusCode, text)
	}
	d.seen[op.id][want] = true
	if err := d.check(op, want, &got); err != nil {
		d.t.Errorf("%s: %v\n%s", line, err, text)
	}
	return got
}

func (d *described) send(op operation, r *request, user string, want int) *http.Response {
	d.t.Helper()
	address := r.url
	if address == "" {
		address = d.p.URL + d.fill(op, r) + "?" + r.query
	}
	mediaType, body := d.body(op, r, want)
	made, err := http.NewRequestWithContext(d.t.Context(), op.method, address, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	made.Header = r.header
	if mediaType != "" {
		made.Header.Set("Content-Type", mediaType)
	}
	if user != "-" {
		made.Header.Set("Authorization", "Bearer "+d.tokens[user])
	}
	response, err := http.DefaultClient.Do(made)
	if err != nil {
		d.t.Fatal(err)
	}
	return response
}

// fill returns the path of an operation.
func (d *described) fill(op operation, r *request) string {
	path := op.path
	for _, p := range op.parameters {
		name, _ := p.member("name")
		value, ok := r.params[name]
		if !ok {
			value, _ = p.member("example")
		}
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	return path
}

// body returns what is sent: an example, which must be as it is described when it
// is to be taken.
func (d *described) body(op operation, r *request, want int) (mediaType, text string) {
	d.t.Helper()
	content := op.at("requestBody", "content")
	if r.body != nil {
		return r.mediaType, *r.body
	}
	if len(content.keys()) == 0 {
		return "", ""
	}
	mediaType = content.keys()[0]
	media := content.at(mediaType)
	value := media.at("example").value
	if examples := media.at("examples"); value == nil && len(examples.keys()) > 0 {
		if r.example == "" {
			r.example = examples.keys()[0]
		}
		value = examples.at(r.example, "value").value
	}
	if members, ok := value.(map[string]any); ok && r.set != nil {
		members = maps.Clone(members)
		maps.Copy(members, r.set)
		encoded, err := json.Marshal(members)
		if err != nil {
			d.t.Fatal(err)
		}
		value, _ = jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	}
	if media.at("schema").value != nil && want < http.StatusBadRequest {
		if err := d.validate(media.at("schema"), value); err != nil {
			d.t.Errorf("%s: what is sent: %v", op.id, err)
		}
	}
	if plain, ok := value.(string); ok {
		return mediaType, plain
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		d.t.Fatal(err)
	}
	return mediaType, string(encoded)
}

func (d *described) validate(schema node, value any) error {
	compiled, err := d.schema.Compile(resource + schema.pointer)
	if err != nil {
		d.t.Fatal(err)
	}
	return compiled.Validate(value)
}

// check compares an answer with what is described for its status.
func (d *described) check(op operation, status int, got *answer) error {
	described := op.at("responses", strconv.Itoa(status))
	if described.value == nil {
		return fmt.Errorf("%d is not described", status)
	}
	for _, name := range described.at("headers").keys() {
		if err := d.checkHeader(described.at("headers", name), got.header.Get(name)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	content := described.at("content")
	if len(content.keys()) == 0 {
		if len(got.text) > 0 {
			return fmt.Errorf("there is a body")
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil || content.at(mediaType).value == nil {
		return fmt.Errorf("the media type %q is not described", got.header.Get("Content-Type"))
	}
	media := content.at(mediaType)
	switch mediaType {
	case "application/json":
		if got.value, err = jsonschema.UnmarshalJSON(bytes.NewReader(got.text)); err == nil {
			err = d.validate(media.at("schema"), got.value)
		}
		if status >= http.StatusBadRequest && err == nil {
			err = checkCode(media, got.value)
		}
	case "text/event-stream":
		if got.value, err = readEvents(string(got.text)); err == nil {
			err = d.validate(media.at("schema", "contentSchema"), got.value)
		}
	}
	return err
}

func (d *described) checkHeader(described node, value string) error {
	if value == "" && described.at("required").value == false {
		return nil
	}
	if value == "" {
		return fmt.Errorf("it is missing")
	}
	if kind, _ := described.at("schema").member("type"); kind == "integer" {
		_, err := strconv.Atoi(value)
		return err
	}
	return d.validate(described.at("schema"), value)
}

// checkCode sees whether an error is of a kind that is described.
func checkCode(media node, value any) error {
	members, _ := value.(map[string]any)
	code, isError := members["error_code"]
	if !isError {
		return nil
	}
	if described, ok := media.at("example").member("error_code"); ok && described == code {
		return nil
	}
	for _, name := range media.at("examples").keys() {
		if described, _ := media.at("examples", name, "value").member("error_code"); described == code {
			return nil
		}
	}
	return fmt.Errorf("the code %v is not described", code)
}

// readEvents returns server-sent events as objects whose data is JSON.
func readEvents(text string) (any, error) {
	events := []any{}
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		event := map[string]any{}
		for line := range strings.SplitSeq(block, "\n") {
			name, value, ok := strings.Cut(line, ": ")
			switch {
			case strings.HasPrefix(line, ":"): // the stream lives
			case !ok:
				return nil, fmt.Errorf("no line of an event: %q", line)
			case name == "data":
				data, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
				if err != nil {
					return nil, err
				}
				event[name] = data
			default:
				event[name] = value
			}
		}
		if len(event) > 0 {
			events = append(events, event)
		}
	}
	return events, nil
}
