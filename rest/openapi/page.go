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
)

//go:embed page.html
var pageText string

// What stands in the rendered page where addresses go.
const (
	baseMark = "{base-url}"
	authMark = "{auth-url}"
)

// view is what the page's template is given.
type view struct {
	*document
	BaseURL, AuthURL string
	Groups           []group
}

// group is the operations of one tag.
type group struct {
	tag
	Operations []shownOperation
}

type shownOperation struct {
	*operation
	Method, Path string
	Public       bool
	Outside      bool // of the base URL
	Bodies       []shownMedia
	Answers      []shownResponse
	Errors       []shownResponse
}

type shownResponse struct {
	Status string
	response
	Bodies []shownMedia
}

type shownMedia struct {
	Type     string
	Schema   *schema
	Examples []shownExample
}

type shownExample struct{ Summary, Text string }

// render makes the page of a document.
func render(doc *document) (string, error) {
	page, err := template.New("page").Funcs(template.FuncMap{
		"markdown": markdown,
		"inline":   inline,
		"anchor":   anchor,
		"type":     typeOf,
		"limits":   limits,
		"fields":   func(s *schema) []field { return fields(doc, s) },
		"hasRef":   func(s *schema) bool { return s != nil && s.Ref != "" },
	}).Parse(pageText)
	if err != nil {
		return "", fmt.Errorf("read the page of the interface: %w", err)
	}
	var text bytes.Buffer
	if err := page.Execute(&text, newView(doc)); err != nil {
		return "", fmt.Errorf("make the page of the interface: %w", err)
	}
	return text.String(), nil
}

func newView(doc *document) view {
	v := view{document: doc, BaseURL: baseMark, AuthURL: authMark}
	for _, t := range doc.Tags {
		g := group{tag: t}
		for _, path := range doc.Paths {
			for _, op := range path.Value.operations() {
				if slices.Contains(op.Value.Tags, t.Name) {
					g.Operations = append(g.Operations, show(path, op))
				}
			}
		}
		v.Groups = append(v.Groups, g)
	}
	return v
}

func show(path entry[pathItem], op entry[*operation]) shownOperation {
	shown := shownOperation{
		operation: op.Value,
		Method:    op.Name,
		Path:      path.Name,
		Public:    op.Value.Security != nil && len(*op.Value.Security) == 0,
		Outside:   len(path.Value.Servers) > 0,
	}
	if op.Value.RequestBody != nil {
		shown.Bodies = showMedia(op.Value.RequestBody.Content)
	}
	for _, r := range op.Value.Responses {
		answer := shownResponse{Status: r.Name, response: r.Value, Bodies: showMedia(r.Value.Content)}
		if isError(answer) {
			shown.Errors = append(shown.Errors, answer)
		} else {
			shown.Answers = append(shown.Answers, answer)
		}
	}
	return shown
}

// isError reports whether an answer's body is the one that all errors have.
func isError(r shownResponse) bool {
	return len(r.Bodies) == 1 && r.Bodies[0].Schema != nil && refName(r.Bodies[0].Schema.Ref) == "ErrorResponse"
}

func showMedia(content ordered[media]) []shownMedia {
	var list []shownMedia
	for _, m := range content {
		shown := shownMedia{Type: m.Name, Schema: m.Value.Schema}
		if m.Value.Example.Kind != 0 {
			shown.Examples = append(shown.Examples, shownExample{Text: asExample(m.Value.Example)})
		}
		for _, e := range m.Value.Examples {
			shown.Examples = append(shown.Examples, shownExample{Summary: e.Value.Summary, Text: asExample(e.Value.Value)})
		}
		list = append(list, shown)
	}
	return list
}

var commonMark = goldmark.New(goldmark.WithExtensions(extension.Table))

// markdown gives a description as HTML. Descriptions are our own.
func markdown(text string) (template.HTML, error) {
	var html bytes.Buffer
	if err := commonMark.Convert([]byte(text), &html); err != nil {
		return "", fmt.Errorf("read a description: %w", err)
	}
	return template.HTML(html.String()), nil
}

// inline is markdown for one line, without a paragraph around it.
func inline(text string) (template.HTML, error) {
	html, err := markdown(text)
	line := strings.TrimSpace(string(html))
	if strings.Count(line, "<p>") == 1 {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "<p>"), "</p>")
	}
	return template.HTML(line), err
}

// anchor makes a name fit for a link to it.
func anchor(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }

// field is a row in the table of an object's members.
type field struct {
	Name        string
	Required    bool
	Description string
	Schema      *schema
}

// fields lists the members of an object; none for what is no object.
func fields(doc *document, s *schema) []field {
	if s = doc.named(s); s == nil {
		return nil
	}
	var list []field
	for _, p := range s.Properties {
		f := field{Name: p.Name, Required: slices.Contains(s.Required, p.Name), Description: p.Value.Description, Schema: p.Value}
		if f.Description == "" {
			f.Description = doc.named(p.Value).Description
		}
		list = append(list, f)
	}
	return list
}

// typeOf says what a schema lets through, in few words with links.
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

// named says what a schema means by one of its types.
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

// limits says what else a value must keep to, "" when nothing.
func limits(s *schema) string {
	if s == nil {
		return ""
	}
	var list []string
	say := func(low, high *int, what string) {
		switch {
		case low != nil && high != nil:
			list = append(list, fmt.Sprintf("%s to %s%s", grouped(*low), grouped(*high), what))
		case low != nil:
			list = append(list, fmt.Sprintf("at least %s%s", grouped(*low), what))
		case high != nil:
			list = append(list, fmt.Sprintf("at most %s%s", grouped(*high), what))
		}
	}
	say(s.MinLength, s.MaxLength, " characters")
	say(s.Minimum, s.Maximum, "")
	say(s.MinItems, s.MaxItems, " entries")
	if s.Pattern != "" {
		list = append(list, "like "+s.Pattern)
	}
	if s.Default != nil {
		list = append(list, fmt.Sprintf("%v when left out", s.Default))
	}
	return strings.Join(list, ", ")
}

// grouped writes a number that is not negative as people read it.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
