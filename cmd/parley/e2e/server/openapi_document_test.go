package server

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/rest"
)

// described is what a server says of its interface, and a record of what it
// was seen to do.
type described struct {
	t      *testing.T
	p      *e2etest.Process
	tokens map[string]string
	doc    node
	schema *jsonschema.Compiler
	// operations are by their ids, in which order they are listed.
	operations map[string]operation
	order      []string
	// seen has the statuses that each operation was answered with.
	seen map[string]map[int]bool
}

// operation is one as it is described.
type operation struct {
	node
	id, method, path string
	parameters       []node
}

// node is a place in the document.
type node struct {
	root    map[string]any
	pointer string
	value   any
}

// at goes down, through references too. What is not there has no value.
func (n node) at(keys ...string) node {
	for _, key := range keys {
		members, _ := n.value.(map[string]any)
		n.value = members[key]
		n.pointer += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
		if to, ok := n.member("$ref"); ok && !strings.Contains(to, "/schemas/") {
			n = node{n.root, "#", n.root}.at(strings.Split(strings.TrimPrefix(to, "#/"), "/")...)
		}
	}
	return n
}

func (n node) member(name string) (string, bool) {
	members, _ := n.value.(map[string]any)
	text, ok := members[name].(string)
	return text, ok
}

// keys lists the members of an object.
func (n node) keys() []string {
	members, _ := n.value.(map[string]any)
	return slices.Sorted(maps.Keys(members))
}

// list returns the entries of a list, and where references lead.
func (n node) list() []node {
	items, _ := n.value.([]any)
	var nodes []node
	for i := range items {
		inner := node{n.root, n.pointer, map[string]any{strconv.Itoa(i): items[i]}}
		nodes = append(nodes, inner.at(strconv.Itoa(i)))
	}
	return nodes
}

const resource = "file:///openapi.json"

// describe reads what a server says of itself. Objects in it are taken to have
// no members but those that are described: clients need not mind more, but here
// it would be something forgotten.
func describe(t *testing.T, p *e2etest.Process, users ...string) *described {
	t.Helper()
	status, text := p.Call("", http.MethodGet, "/openapi.yaml", "")
	if status != http.StatusOK {
		t.Fatalf("the description: %d %s", status, text)
	}
	var parsed any
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(closed(parsed))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	d := &described{t: t, p: p, tokens: map[string]string{}, operations: map[string]operation{}, seen: map[string]map[int]bool{}}
	d.doc = node{doc.(map[string]any), "#", doc}
	d.schema = jsonschema.NewCompiler()
	d.schema.AssertFormat()
	if err := d.schema.AddResource(resource, doc); err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		d.tokens[user] = p.Token(user)
	}
	d.readOperations()
	return d
}

// closed returns a document in which objects with described members have no
// others.
func closed(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = closed(v[key])
		}
		_, described := v["properties"].(map[string]any)
		_, open := v["additionalProperties"]
		if _, typed := v["type"]; described && typed && !open {
			v["additionalProperties"] = false
		}
	case []any:
		for i := range v {
			v[i] = closed(v[i])
		}
	}
	return value
}

func (d *described) readOperations() {
	d.t.Helper()
	paths := d.doc.at("paths")
	for _, path := range paths.keys() {
		item := paths.at(path)
		server := rest.Root
		if item.at("servers").value != nil {
			server = ""
		}
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			found := item.at(method)
			if found.value == nil {
				continue
			}
			id, _ := found.member("operationId")
			if _, twice := d.operations[id]; twice || id == "" {
				d.t.Fatalf("%s %s: the id %q", method, path, id)
			}
			d.operations[id] = operation{
				node: found, id: id, method: strings.ToUpper(method), path: server + path,
				parameters: append(item.at("parameters").list(), found.at("parameters").list()...),
			}
			d.order = append(d.order, id)
			d.seen[id] = map[int]bool{}
		}
	}
}
