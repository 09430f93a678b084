package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	for range maxCandidates {
		start := strings.IndexByte(text, '{')
		if start < 0 {
			break
		}
		text = text[start:]
		value, size, err := read[T](text)
		if err == nil {
			err = check(&value)
		}
		if err == nil {
			return value, nil
		}
		wrong = cmp.Or(wrong, err)
		text = text[size:]
	}
	return none, cmp.Or(wrong, errors.New("there is no JSON object in it"))
}

// read decodes the object at the start of a text. size is how much to skip before the next
// one: an object within a valid one is no answer.
func read[T any](text string) (value T, size int, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	err = decoder.Decode(&value)
	size = int(decoder.InputOffset())
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = json.NewDecoder(strings.NewReader(repairJSON(text))).Decode(&value)
		size = 1
	}
	switch {
	case err == nil:
		return value, size, nil
	case errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(text, "}"):
		return value, 1, errors.New("the JSON object is not closed")
	}
	return value, size, fmt.Errorf("the JSON cannot be read: %s", shorten(err.Error(), maxMessage))
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
