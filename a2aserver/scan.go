package a2aserver

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/jsonscan"
)

// maxDepth limits the nesting of a request.
const maxDepth = 64

// manyKeys is from how many members on an object's keys are in a map instead of a list.
const manyKeys = 16

// checkBody refuses a body that is not one JSON document in UTF-8, is nested too deep, or
// has an object with a duplicate member name: parsers differ in which one they take.
func checkBody(body []byte) error {
	if !utf8.Valid(body) {
		return a2a.NewError(a2a.ErrParseError, "the request is not UTF-8")
	}
	if !json.Valid(body) {
		return a2a.NewError(a2a.ErrParseError, "the request is not JSON")
	}
	return checkShape(body)
}

// checkShape checks nesting and duplicate names of a document that is valid JSON.
func checkShape(body []byte) error {
	doc := shape{keys: make([][]byte, 0, manyKeys)}
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if doc.depth == maxDepth {
				return invalidRequest("the request is nested deeper than %d levels", maxDepth)
			}
			doc.enter(body[i] == '{')
		case '}', ']':
			doc.leave()
		case ',':
			doc.next()
		case '"':
			end := jsonscan.StringEnd(body, i)
			if doc.atKey && !doc.add(body[i:end]) {
				return a2a.NewError(a2a.ErrParseError, "the request has an object with two members of one name")
			}
			i = end - 1
		}
	}
	return nil
}

// shape is the state of the scan.
type shape struct {
	// atKey says that the next string is a key.
	atKey  bool
	depth  int
	levels [maxDepth]level
	// keys are those of the open objects, the innermost's last.
	keys [][]byte
}

// level is an open object or array.
type level struct {
	object bool
	// first is the index of its first key.
	first int
	// many has its keys as a set, once there are many.
	many map[string]bool
}

func (s *shape) enter(object bool) {
	s.levels[s.depth] = level{object: object, first: len(s.keys)}
	s.depth++
	s.atKey = object
}

func (s *shape) leave() {
	s.depth--
	s.keys = s.keys[:s.levels[s.depth].first]
	s.atKey = false
}

func (s *shape) next() { s.atKey = s.levels[s.depth-1].object }

// add records a key, a JSON string, and reports whether it is new.
func (s *shape) add(key []byte) bool {
	s.atKey = false
	key = jsonscan.Unquote(key)
	in := &s.levels[s.depth-1]
	if in.many != nil {
		known := in.many[string(key)]
		in.many[string(key)] = true
		return !known
	}
	others := s.keys[in.first:]
	for _, other := range others {
		if bytes.Equal(other, key) {
			return false
		}
	}
	if len(others) == manyKeys {
		in.many = map[string]bool{string(key): true}
		for _, other := range others {
			in.many[string(other)] = true
		}
		return true
	}
	s.keys = append(s.keys, key)
	return true
}
