package a2aserver

import (
	"bytes"
	"encoding/json"
)

// encodeJSON encodes a value as compact JSON without escaping <, > and &. The SDK's own
// types escape them all the same: see encoder.
func encodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
