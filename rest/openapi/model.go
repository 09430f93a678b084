package openapi

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is what the page shows of an OpenAPI document. Maps keep the order in
// which they were written.
type document struct {
	Info struct {
		Title, Summary, Version, Description string
	}
	Tags       []tag
	Paths      ordered[pathItem]
	Components struct {
		SecuritySchemes ordered[securityScheme] `yaml:"securitySchemes"`
		Parameters      ordered[parameter]
		RequestBodies   ordered[body] `yaml:"requestBodies"`
		Responses       ordered[response]
		Headers         ordered[header]
		Schemas         ordered[*schema]
	}
}

type tag struct{ Name, Description string }

type pathItem struct {
	Servers                []yaml.Node
	Parameters             []parameter
	Get, Put, Post, Delete *operation
}

type operation struct {
	OperationID string `yaml:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Security    *[]yaml.Node
	Parameters  []parameter
	RequestBody *body `yaml:"requestBody"`
	Responses   ordered[response]
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name, In    string
	Required    bool
	Description string
	Schema      *schema
}

type body struct {
	Ref         string `yaml:"$ref"`
	Description string
	Required    bool
	Content     ordered[media]
}

type media struct {
	Schema   *schema
	Example  yaml.Node
	Examples ordered[example]
}

type example struct {
	Summary string
	Value   yaml.Node
}

type response struct {
	Ref         string `yaml:"$ref"`
	Description string
	Headers     ordered[header]
	Content     ordered[media]
}

type header struct {
	Ref         string `yaml:"$ref"`
	Description string
	Schema      *schema
}

type securityScheme struct {
	Type, Scheme, Description string
	Flows                     struct {
		Implicit struct {
			AuthorizationURL string `yaml:"authorizationUrl"`
			Scopes           ordered[string]
		}
	}
}

type schema struct {
	Ref                  string `yaml:"$ref"`
	Title, Description   string
	Type                 oneOrMore
	Format, Pattern      string
	Const                any
	Enum                 []any
	Default              any
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

// oneOrMore is a list that may be written as its one entry.
type oneOrMore []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (l *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = oneOrMore{node.Value}
		return nil
	}
	return node.Decode((*[]string)(l))
}

// ordered is a map in the order in which it was written.
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

// find gives what a reference such as #/components/schemas/Row names in m.
func (m ordered[T]) find(ref string) (T, error) {
	name := refName(ref)
	i := slices.IndexFunc(m, func(e entry[T]) bool { return e.Name == name })
	if i < 0 {
		var none T
		return none, fmt.Errorf("there is no %s", ref)
	}
	return m[i].Value, nil
}

func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// parse reads a document and puts what references name in their place, but for
// those to schemas, which become links.
func parse(text string) (*document, error) {
	var doc document
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("read the description of the interface: %w", err)
	}
	for i := range doc.Components.Responses {
		if err := doc.resolveResponse(&doc.Components.Responses[i].Value); err != nil {
			return nil, err
		}
	}
	for i := range doc.Paths {
		item := &doc.Paths[i].Value
		for _, op := range item.operations() {
			if err := doc.resolve(item, op.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", op.Value.OperationID, err)
			}
		}
	}
	return &doc, nil
}

// named gives the schema that another is a reference to; itself when it is none.
func (d *document) named(s *schema) *schema {
	if s == nil || s.Ref == "" {
		return s
	}
	if found, err := d.Components.Schemas.find(s.Ref); err == nil {
		return found
	}
	return s
}

// operations gives those of a path by their methods.
func (p pathItem) operations() ordered[*operation] {
	all := ordered[*operation]{{"GET", p.Get}, {"POST", p.Post}, {"PUT", p.Put}, {"DELETE", p.Delete}}
	return slices.DeleteFunc(all, func(e entry[*operation]) bool { return e.Value == nil })
}

func (d *document) resolve(item *pathItem, op *operation) (err error) {
	op.Parameters = append(slices.Clone(item.Parameters), op.Parameters...)
	for i, p := range op.Parameters {
		if p.Ref == "" {
			continue
		}
		if op.Parameters[i], err = d.Components.Parameters.find(p.Ref); err != nil {
			return err
		}
	}
	if op.RequestBody != nil && op.RequestBody.Ref != "" {
		found, err := d.Components.RequestBodies.find(op.RequestBody.Ref)
		if err != nil {
			return err
		}
		op.RequestBody = &found
	}
	for i := range op.Responses {
		if err := d.resolveResponse(&op.Responses[i].Value); err != nil {
			return err
		}
	}
	return nil
}

func (d *document) resolveResponse(r *response) (err error) {
	if r.Ref != "" {
		if *r, err = d.Components.Responses.find(r.Ref); err != nil {
			return err
		}
	}
	for i, h := range r.Headers {
		if h.Value.Ref == "" {
			continue
		}
		if r.Headers[i].Value, err = d.Components.Headers.find(h.Value.Ref); err != nil {
			return err
		}
	}
	return nil
}
