package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxCandidates limits how many objects of a model's text are tried.
const maxCandidates = 32

// decode finds the JSON object in the text of a model: alone, in a code fence, or within
// prose; with superfluous commas and line breaks in strings if need be. The first object
// that decodes as a T and passes check is the answer. The error describes what is wrong
// with the first one, for the model.
func decode[T any](text string, check func(*T) error) (T, error) {
	var none T
	var wrong error // with the first object; others may be within it
	at := 0
	for range maxCandidates {
		start := strings.IndexByte(text[at:], '{')
		if start < 0 {
			break
		}
		start += at
		at = start + 1
		end := objectEnd(text, start)
		if end < 0 {
			wrong = cmp.Or(wrong, errors.New("the JSON object is not closed"))
			continue
		}
		got, err := read(text[start:end], check)
		if err == nil {
			return got, nil
		}
		wrong = cmp.Or(wrong, err)
		if json.Valid([]byte(text[start:end])) {
			at = end // what is in it is no answer either
		}
	}
	return none, cmp.Or(wrong, errors.New("there is no JSON object in it"))
}

func read[T any](block string, check func(*T) error) (T, error) {
	var value T
	err := json.Unmarshal([]byte(block), &value)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		err = json.Unmarshal([]byte(repairJSON(block)), &value)
	}
	if err != nil {
		return value, fmt.Errorf("the JSON cannot be read: %s", shorten(err.Error(), maxMessage))
	}
	return value, check(&value)
}

// objectEnd gives the end of the object that begins at start; -1 when it has none.
func objectEnd(text string, start int) int {
	depth, quoted := 0, false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// repairJSON drops commas before closing brackets and escapes control characters within
// strings: two errors that are common and unambiguous.
func repairJSON(block string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(block); i++ {
		c := block[i]
		switch {
		case quoted && c == '\\' && i+1 < len(block):
			out.WriteByte(c)
			i++
			c = block[i]
		case c == '"':
			quoted = !quoted
		case quoted && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		case !quoted && c == ',' && closes(block[i+1:]):
			continue
		}
		out.WriteByte(c)
	}
	return out.String()
}

func closes(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return rest != "" && (rest[0] == '}' || rest[0] == ']')
}
