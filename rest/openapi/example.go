package openapi

import (
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v3"
)

// asExample gives a value as people read it: a text as it is, all else as JSON,
// on one line where it was written so.
func asExample(node yaml.Node) string {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		return strings.TrimSuffix(node.Value, "\n")
	}
	var text strings.Builder
	writeJSON(&text, &node, "")
	return text.String()
}

func writeJSON(text *strings.Builder, node *yaml.Node, indent string) {
	switch node.Kind {
	case yaml.MappingNode:
		writeAll(text, node, indent, '{', '}', 2, func(at int, inner string) {
			text.WriteString(toJSON(node.Content[at].Value) + ": ")
			writeJSON(text, node.Content[at+1], inner)
		})
	case yaml.SequenceNode:
		writeAll(text, node, indent, '[', ']', 1, func(at int, inner string) {
			writeJSON(text, node.Content[at], inner)
		})
	default:
		var value any
		_ = node.Decode(&value) // every scalar is something
		text.WriteString(toJSON(value))
	}
}

// writeAll writes the entries of a list or map, each of which is some nodes.
func writeAll(text *strings.Builder, node *yaml.Node, indent string, open, end byte, nodes int, write func(at int, indent string)) {
	flow := node.Style&yaml.FlowStyle != 0
	inner := indent + "  "
	text.WriteByte(open)
	for at := 0; at < len(node.Content); at += nodes {
		switch {
		case !flow:
			text.WriteString("\n" + inner)
		case at > 0:
			text.WriteByte(' ')
		}
		write(at, inner)
		if at+nodes < len(node.Content) {
			text.WriteByte(',')
		}
	}
	if !flow {
		text.WriteString("\n" + indent)
	}
	text.WriteByte(end)
}

func toJSON(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // scalars can always be encoded
	return strings.TrimSuffix(text.String(), "\n")
}
