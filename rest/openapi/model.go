package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is the part of an OpenAPI document that the page shows. Maps keep their order.
type document struct {
	Info struct {
		Title, Summary, Version, Description string
	}
	Tags       []tag
	Paths      ordered[pathItem]
	Components struct {
		SecuritySchemes ordered[securityScheme] `yaml:"securitySchemes"`
		Schemas         ordered[*schema]
	}
}

type tag struct{ Name, Description string }

type pathItem struct {
	Servers                       []yaml.Node
	Parameters                    []parameter
	Get, Put, Post, Patch, Delete *operation
}

type operation struct {
	OperationID          string `yaml:"operationId"`
	Tags                 []string
	Summary, Description string
	Security             *[]yaml.Node
	Parameters           []parameter
	RequestBody          *body `yaml:"requestBody"`
	Responses            ordered[response]
}

// parameter is a parameter of an operation or a field of an object.
type parameter struct {
	Name, In    string
	Required    bool
	Description string
	Schema      *schema
}

type body struct {
	Description string
	Required    bool
	Content     ordered[media]
}

type media struct {
	Schema   *schema
	Example  yaml.Node
	Examples ordered[example]
}

// All returns the examples of a body, the one without a name first.
func (m media) All() ordered[example] {
	if m.Example.IsZero() {
		return m.Examples
	}
	return append(ordered[example]{{Value: example{Value: m.Example}}}, m.Examples...)
}

type example struct {
	Summary string
	Value   yaml.Node
}

type response struct {
	Description string
	Headers     ordered[yaml.Node]
	Content     ordered[media]
}

type securityScheme struct {
	Description string
	Flows       struct {
		Implicit struct{ Scopes ordered[string] }
	}
}

type schema struct {
	Ref                  string `yaml:"$ref"`
	Title, Description   string
	Type                 oneOrMore
	Format, Pattern      string
	Const, Default       any
	Enum                 []any
	Required             []string
	Properties           ordered[*schema]
	AdditionalProperties yaml.Node `yaml:"additionalProperties"`
	Items                *schema
	OneOf                []*schema `yaml:"oneOf"`
	MinLength            *int      `yaml:"minLength"`
	MaxLength            *int      `yaml:"maxLength"`
	Minimum, Maximum     *int
	MinItems             *int    `yaml:"minItems"`
	MaxItems             *int    `yaml:"maxItems"`
	ContentSchema        *schema `yaml:"contentSchema"`
}

// oneOrMore is a list whose only entry may be written without it.
type oneOrMore []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = oneOrMore{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// ordered is a map that keeps its order.
type ordered[T any] []entry[T]

type entry[T any] struct {
	Name  string
	Value T
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (m *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a map is wanted", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		e := entry[T]{Name: node.Content[i].Value}
		if err := node.Content[i+1].Decode(&e.Value); err != nil {
			return err
		}
		*m = append(*m, e)
	}
	return nil
}

// parse reads a document and replaces references, except those to schemas, which become
// links.
func parse(text string) (*document, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		return nil, fmt.Errorf("read the description of the interface: %w", err)
	}
	if err := resolve(&root, &root); err != nil {
		return nil, err
	}
	var doc document
	if err := root.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the description of the interface: %w", err)
	}
	return &doc, nil
}

// resolve replaces the references in a node of a document.
func resolve(root, node *yaml.Node) error {
	if ref := member(node, "$ref"); ref != nil && !strings.HasPrefix(ref.Value, "#/components/schemas/") {
		found := root.Content[0]
		for _, name := range strings.Split(strings.TrimPrefix(ref.Value, "#/"), "/") {
			if found = member(found, name); found == nil {
				return fmt.Errorf("there is no %s", ref.Value)
			}
		}
		*node = *found
	}
	for _, inner := range node.Content {
		if err := resolve(root, inner); err != nil {
			if id := member(node, "operationId"); id != nil {
				err = fmt.Errorf("%s: %w", id.Value, err)
			}
			return err
		}
	}
	return nil
}

// member returns the value of a key, nil when there is none.
func member(node *yaml.Node, key string) *yaml.Node {
	if node != nil && node.Kind == yaml.MappingNode {
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// target returns the schema that a reference names; the schema itself when it is none.
func (d *document) target(s *schema) *schema {
	if s != nil && s.Ref != "" {
		for _, e := range d.Components.Schemas {
			if e.Name == refName(s.Ref) {
				return e.Value
			}
		}
	}
	return s
}

// operations returns the operations of a path by their methods.
func (p pathItem) operations() ordered[*operation] {
	all := ordered[*operation]{{"GET", p.Get}, {"POST", p.Post}, {"PUT", p.Put}, {"PATCH", p.Patch}, {"DELETE", p.Delete}}
	return slices.DeleteFunc(all, func(e entry[*operation]) bool { return e.Value == nil })
}
