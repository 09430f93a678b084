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
	d := json.NewDecoder(bytes.NewReader(text))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, _ := key.(string)
		if err != nil || seen[name] || len(columns) == domain.MaxColumns {
			return nil
		}
		seen[name] = true
		column := jsonColumn{}
		if column.key, err = json.Marshal(name); err != nil {
			return nil
		}
		if column.values = readScalars(d, text); len(column.values) == 0 || len(columns) > 0 && len(column.values) != len(columns[0].values) {
			return nil
		}
		columns = append(columns, column)
	}
	if _, err := d.Token(); err != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return columns
}

// readScalars returns the values of an array of scalars, none for what is not one.
func readScalars(d *json.Decoder, text []byte) (values [][]byte) {
	if opening, err := d.Token(); err != nil || opening != json.Delim('[') {
		return nil
	}
	for d.More() {
		from := d.InputOffset()
		value, err := d.Token()
		if _, nested := value.(json.Delim); err != nil || nested {
			return nil
		}
		values = append(values, bytes.TrimLeft(text[from:d.InputOffset()], ", \t\r\n"))
	}
	if _, err := d.Token(); err != nil {
		return nil
	}
	return values
}
