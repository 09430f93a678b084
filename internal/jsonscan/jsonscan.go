// Package jsonscan reads the members of JSON objects and the elements of arrays without decoding
// or copying their values. The
// text must be valid JSON; see [json.Valid].
package jsonscan

import (
	"bytes"
	"encoding/json"
	"iter"
)

// blanks are JSON's whitespace characters.
const blanks = " \t\r\n"

// Members returns the members of an object, in order and with duplicates: the decoded key and
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

// Elements returns the elements of an array, in order, as JSON.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		depth, start := 0, bytes.IndexByte(array, '[')+1
		for i := 0; i < len(array); i++ {
			switch array[i] {
			case '"':
				i = StringEnd(array, i) - 1
			case '{', '[':
				depth++
			case '}', ']', ',':
				if depth == 1 {
					// An empty array has no element before its end.
					if value := bytes.Trim(array[start:i], blanks); len(value) > 0 && !yield(value) {
						return
					}
					start = i + 1
				}
				if array[i] != ',' {
					depth--
				}
			}
		}
	}
}

// StringEnd returns the end of the string that starts at an offset.
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
