package sqlstore

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// jsonText is a value in a column of JSON, where ” is the zero value.
type jsonText[T any] struct{ value T }

// Scan implements sql.Scanner.
func (j *jsonText[T]) Scan(column any) error {
	var text []byte
	switch column := column.(type) {
	case string:
		text = []byte(column)
	case []byte:
		text = column
	default:
		return fmt.Errorf("read JSON of a column: it is a %T", column)
	}
	j.value = *new(T)
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, &j.value)
}

// Value implements driver.Valuer.
func (j jsonText[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	if err != nil {
		return nil, fmt.Errorf("write JSON of a column: %w", err)
	}
	return string(text), nil
}
