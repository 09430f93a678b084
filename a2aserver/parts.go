package a2aserver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// checkText refuses a message that has anything but text: the agents would drop it.
func checkText(message *a2a.Message) error {
	for i, part := range message.Parts {
		if _, ok := part.Content.(a2a.Text); ok {
			continue
		}
		media := mediaType(part)
		return a2a.NewError(a2a.ErrUnsupportedContentType,
			fmt.Sprintf("message.parts[%d] is %s; this agent reads text parts only", i, shorten(media)),
		).WithErrorInfoMeta(map[string]string{"mediaType": shorten(media)})
	}
	return nil
}

// mediaType gives the media type of a part, or that of its kind.
func mediaType(part *a2a.Part) string {
	kind := "application/octet-stream"
	switch part.Content.(type) {
	case a2a.Text:
		kind = mediaPlain
	case a2a.Data:
		kind = mediaJSON
	}
	return cmp.Or(part.MediaType, kind)
}

// withoutEmptyParts gives a stored document without message parts that the SDK cannot
// read, such as {"data": null}: earlier versions stored them.
func withoutEmptyParts(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	dropEmptyParts(document)
	return encodeJSON(document)
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
