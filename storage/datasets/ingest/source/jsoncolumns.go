package source

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"parley/internal/domain"
	"parley/internal/jsonscan"
)

// jsonColumn is an array of an object of columns: its values as they are written.
type jsonColumn struct {
	key    []byte
	values [][]byte
}

// openColumns returns the rows of an object whose values are arrays of scalars of one length: its
// columns. It is nil for other files, and for those that are too large for one object.
func (r *Reader) openColumns(in Input) (*Container, error) {
	if info, err := os.Stat(in.Path); err != nil || info.Size() > MaxValue {
		return nil, err
	}
	text, err := os.ReadFile(in.Path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	columns := readColumns(text)
	if columns == nil {
		return nil, nil
	}
	rows := len(columns[0].values)
	j := &jsonParts{r: r, in: in}
	j.found.Warnings = []domain.IngestWarning{{Message: fmt.Sprintf("%s: its arrays are read as columns of %s", in.Name, Count(rows, "row"))}}
	limit := r.unpackLimit()
	err = j.addPart("rows", func(out io.Writer) error {
		limited := &limitedWriter{out: out, left: limit}
		lines := bufio.NewWriter(limited)
		for row := range rows {
			for i, column := range columns {
				_ = lines.WriteByte("{,"[min(i, 1)])
				_, _ = lines.Write(column.key)
				_ = lines.WriteByte(':')
				_, _ = lines.Write(column.values[row])
			}
			if _, err := lines.WriteString("}\n"); err != nil {
				return err
			}
		}
		err := lines.Flush()
		r.unpacked += limit - limited.left
		return err
	})
	if errors.Is(err, errTooLarge) {
		return nil, refuseTooLarge(in.Name, limit)
	}
	return &j.found, err
}

// readColumns returns the columns of an object of columns, nil for other text.
func readColumns(text []byte) (columns []jsonColumn) {
	if text = bytes.TrimLeft(text, " \t\r\n"); !json.Valid(text) || text[0] != '{' {
		return nil
	}
	seen := map[string]bool{}
	for key, array := range jsonscan.Members(text) {
		name, err := json.Marshal(string(key))
		if err != nil || seen[string(key)] || len(columns) == domain.MaxColumns || array[0] != '[' {
			return nil
		}
		seen[string(key)] = true
		column := jsonColumn{key: name}
		for value := range jsonscan.Elements(array) {
			if value[0] == '[' || value[0] == '{' {
				return nil
			}
			column.values = append(column.values, value)
		}
		if len(column.values) == 0 || len(columns) > 0 && len(column.values) != len(columns[0].values) {
			return nil
		}
		columns = append(columns, column)
	}
	return columns
}
