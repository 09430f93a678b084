package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"go.yaml.in/yaml/v3"

	"parley/internal/jsontext"
)

//go:embed page.html
var pageText string

// Placeholders for addresses, in the template and in the rendered page.
const (
	baseMark = "{base-url}"
	authMark = "{auth-url}"
)

// group is the operations of one tag.
type group struct {
	tag
	Operations []shownOperation
}

type shownOperation struct {
	*operation
	Method, Path    string
	Parameters      []parameter
	Public, Outside bool // no token is needed; not below the base URL
}

func render(doc *document) (string, error) {
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"markdown": markdown,
		"inline":   inline,
		"anchor":   anchor,
		"type":     typeOf,
		"limits":   limits,
		"example":  asExample,
		"fields":   func(s *schema) []parameter { return fields(doc, s) },
		"hasRef":   func(s *schema) bool { return s != nil && s.Ref != "" },
	}).Parse(pageText))
	var text strings.Builder
	err := page.Execute(&text, doc)
	return text.String(), err
}

// Groups returns the operations of each tag.
func (d *document) Groups() []group {
	var groups []group
	for _, t := range d.Tags {
		g := group{tag: t}
		for _, path := range d.Paths {
			for _, op := range path.Value.operations() {
				if slices.Contains(op.Value.Tags, t.Name) {
					g.Operations = append(g.Operations, shownOperation{
						operation: op.Value, Method: op.Name, Path: path.Name,
						Parameters: slices.Concat(path.Value.Parameters, op.Value.Parameters),
						Public:     op.Value.Security != nil && len(*op.Value.Security) == 0,
						Outside:    len(path.Value.Servers) > 0,
					})
				}
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// IsError reports whether a response has the body that all errors have.
func (r response) IsError() bool {
	return len(r.Content) == 1 && r.Content[0].Value.Schema != nil && refName(r.Content[0].Value.Schema.Ref) == "ErrorResponse"
}

var commonMark = goldmark.New(goldmark.WithExtensions(extension.Table))

// markdown renders a description, which is our own text.
func markdown(text string) (template.HTML, error) {
	var html bytes.Buffer
	if err := commonMark.Convert([]byte(text), &html); err != nil {
		return "", fmt.Errorf("read a description: %w", err)
	}
	return template.HTML(html.String()), nil
}

// inline is markdown for one line, without the paragraph.
func inline(text string) (template.HTML, error) {
	html, err := markdown(text)
	line := strings.TrimSpace(string(html))
	if strings.Count(line, "<p>") == 1 {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "<p>"), "</p>")
	}
	return template.HTML(line), err
}

// anchor returns the link target of a name.
func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// fields returns the members of an object; none for another type.
func fields(doc *document, s *schema) []parameter {
	if s = doc.target(s); s == nil {
		return nil
	}
	var list []parameter
	for _, p := range s.Properties {
		f := parameter{Name: p.Name, Required: slices.Contains(s.Required, p.Name), Description: p.Value.Description, Schema: p.Value}
		if f.Description == "" {
			f.Description = doc.target(p.Value).Description
		}
		list = append(list, f)
	}
	return list
}

// typeOf describes the type of a schema, with links.
func typeOf(s *schema) template.HTML {
	switch {
	case s == nil:
		return "bytes"
	case s.Ref != "":
		name := template.HTMLEscapeString(refName(s.Ref))
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case s.ContentSchema != nil:
		return "events: " + typeOf(s.ContentSchema)
	case s.Const != nil:
		return code(s.Const)
	case len(s.Enum) > 0:
		return alternatives(s.Enum, code)
	case len(s.Type) == 0 && len(s.OneOf) > 0 && len(s.Properties) == 0:
		return alternatives(s.OneOf, typeOf)
	case len(s.Type) == 0:
		return "any"
	}
	return alternatives(s.Type, func(name string) template.HTML { return named(s, name) })
}

// named describes one of the types of a schema.
func named(s *schema, name string) template.HTML {
	switch {
	case name == "array" && s.Items != nil:
		return "array of " + typeOf(s.Items)
	case name == "object" && len(s.Properties) == 0 && s.AdditionalProperties.Kind == yaml.MappingNode:
		var values schema
		if s.AdditionalProperties.Decode(&values) == nil {
			return "map to " + typeOf(&values)
		}
	case name == "string" && s.Format != "":
		name = s.Format
	}
	return template.HTML(template.HTMLEscapeString(name))
}

func alternatives[T any](list []T, show func(T) template.HTML) template.HTML {
	shown := make([]string, len(list))
	for i, item := range list {
		shown[i] = string(show(item))
	}
	return template.HTML(strings.Join(shown, " or "))
}

func code(value any) template.HTML {
	if value == nil {
		return "null"
	}
	return template.HTML("<code>" + template.HTMLEscapeString(fmt.Sprint(value)) + "</code>")
}

// limits describes the limits of a value, "" for none.
func limits(s *schema) string {
	if s == nil {
		return ""
	}
	var list []string
	add := func(low, high *int, what string) {
		switch {
		case low != nil && high != nil:
			list = append(list, fmt.Sprintf("%s to %s%s", grouped(*low), grouped(*high), what))
		case low != nil:
			list = append(list, fmt.Sprintf("at least %s%s", grouped(*low), what))
		case high != nil:
			list = append(list, fmt.Sprintf("at most %s%s", grouped(*high), what))
		}
	}
	add(s.MinLength, s.MaxLength, " characters")
	add(s.Minimum, s.Maximum, "")
	add(s.MinItems, s.MaxItems, " entries")
	if s.Pattern != "" {
		list = append(list, "like "+s.Pattern)
	}
	if s.Default != nil {
		list = append(list, fmt.Sprintf("%v when left out", s.Default))
	}
	return strings.Join(list, ", ")
}

// grouped separates the thousands of a number that is not negative.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// asExample formats an example for people: a text as it is, all else as JSON, on one line
// where the source is.
func asExample(node yaml.Node) string {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		return strings.TrimSuffix(node.Value, "\n")
	}
	return formatJSON(&node, "")
}

func formatJSON(node *yaml.Node, indent string) string {
	brackets, step := "[]", 1
	switch node.Kind {
	case yaml.SequenceNode:
	case yaml.MappingNode:
		brackets, step = "{}", 2 // a key and its value
	default:
		var value any
		_ = node.Decode(&value) // a scalar can always be decoded
		return toJSON(value)
	}
	inner := indent + "  "
	first, between, last := "\n"+inner, ",\n"+inner, "\n"+indent
	if node.Style&yaml.FlowStyle != 0 {
		first, between, last = "", ", ", ""
	}
	var entries []string
	for at := 0; at < len(node.Content); at += step {
		text := formatJSON(node.Content[at+step-1], inner)
		if step == 2 {
			text = toJSON(node.Content[at].Value) + ": " + text
		}
		entries = append(entries, text)
	}
	return brackets[:1] + first + strings.Join(entries, between) + last + brackets[1:]
}

func toJSON(value any) string {
	text, _ := jsontext.Marshal(value) // a scalar can always be encoded
	return string(text)
}
