// Package jsontext encodes JSON as people read it.
package jsontext

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes a value as compact JSON without escaping <, > and &.
func Marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}
