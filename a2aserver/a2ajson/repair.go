package a2ajson

import (
	"bytes"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/jsontext"
)

// withoutEmptyParts returns a stored document without message parts that the SDK cannot
// read, such as {"data": null}: earlier versions stored them.
func withoutEmptyParts(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	dropEmptyParts(document)
	return jsontext.Marshal(document)
}

// dropEmptyParts changes the lists of parts in a JSON value.
func dropEmptyParts(value any) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			dropEmptyParts(item)
		}
	case map[string]any:
		for name, member := range value {
			parts, ok := member.([]any)
			switch {
			case name == "parts" && ok:
				value[name] = readableParts(parts)
			case name != "metadata" && name != "data":
				dropEmptyParts(member)
			}
		}
	}
}

func readableParts(parts []any) []any {
	readable := []any{}
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err == nil && new(a2a.Part).UnmarshalJSON(text) == nil {
			readable = append(readable, part)
		}
	}
	return readable
}
