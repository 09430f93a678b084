// Package jsonscan reads the members of JSON objects without decoding their values. The
// text must be valid JSON; see [json.Valid].
package jsonscan

import (
	"bytes"
	"encoding/json"
	"iter"
)

// blanks are JSON's whitespace characters.
const blanks = " \t\r\n"

// Members gives the members of an object, in order and with duplicates: the decoded key and
// the JSON of the value.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		depth, start := 0, 0
		var key []byte // nil where one may follow
		for i := 0; i < len(object); i++ {
			switch object[i] {
			case '"':
				end := StringEnd(object, i)
				if depth == 1 && key == nil {
					key = Unquote(object[i:end])
				}
				i = end - 1
			case ':':
				if depth == 1 {
					start = i + 1
				}
			case '{', '[':
				depth++
			case '}', ']', ',':
				if depth == 1 && key != nil {
					if !yield(key, bytes.Trim(object[start:i], blanks)) {
						return
					}
					key = nil
				}
				if object[i] != ',' {
					depth--
				}
			}
		}
	}
}

// StringEnd gives the end of the string that starts at an offset.
func StringEnd(text []byte, start int) int {
	for i := start + 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// Unquote decodes a string. The result is never nil, and a part of the text if that has no
// escapes.
func Unquote(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var decoded string
	_ = json.Unmarshal(text, &decoded) // it is valid
	return []byte(decoded)
}
