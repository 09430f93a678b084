package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"parley/internal/domain"
	"parley/internal/jsonscan"
)

// jsonParts unpacks an object of arrays: each array of objects is a table, and GeoJSON's
// features are one.
type jsonParts struct {
	r       *Reader
	in      Input
	decoder *json.Decoder
	// left is how many bytes may be read for the value in work.
	left int64
	// geometry is the name of the column for the features' geometry.
	geometry string
	found    Container
	skipped  []string
}

// openJSON returns the arrays of an object of arrays.
func (r *Reader) openJSON(ctx context.Context, in Input) (*Container, error) {
	geo := geoType(in.Head)
	if geo == "FeatureCollection" && len(in.Head) < HeadSize && isEmptyCollection(in.Head) {
		return nil, refuse("%s has no rows", in.Name)
	}
	if geo != "Feature" && !holdsArrays(in.Head) {
		return r.openColumns(in)
	}
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	j := &jsonParts{r: r, in: in}
	j.decoder = json.NewDecoder(ReaderFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := file.Read(p)
		if j.left -= int64(n); j.left < 0 {
			return 0, errTooLong
		}
		return n, err
	}))
	if geo == "Feature" {
		err = j.single()
	} else {
		err = j.unpack()
	}
	var refusal *domain.Error
	var wrong *json.SyntaxError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errNotArrays):
		return nil, nil
	case errors.As(err, &refusal):
		return nil, err
	case errors.Is(err, errTooLarge):
		return nil, refuseTooLarge(in.Name, r.unpackLimit())
	case errors.Is(err, errTooLong):
		return nil, refuse("%s: a value is longer than %d bytes", in.Name, MaxValue)
	case errors.As(err, &wrong):
		return nil, refuse("%s is not JSON: %s, near byte %d", in.Name, wrong, wrong.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, refuse("%s is incomplete: the file ends inside its JSON", in.Name)
	case err != nil:
		return nil, fmt.Errorf("read source: %w", err)
	}
	if len(j.skipped) > 0 {
		j.found.Warnings = append(j.found.Warnings, domain.IngestWarning{
			Message: fmt.Sprintf("%s: not read, since they are no arrays of objects: %s", in.Name, strings.Join(j.skipped, ", ")),
		})
	}
	return &j.found, nil
}

// errNotArrays is a file of objects one after the other.
var errNotArrays = errors.New("more than one object")

// errTooLong is a value of more than MaxValue bytes.
var errTooLong = errors.New("value too long")

// holdsArrays reports whether text is one object, as far as the head shows it, of which
// a value is an array of objects.
func holdsArrays(head []byte) bool {
	d := json.NewDecoder(bytes.NewReader(head))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return false
	}
	found := false
	for depth, last := 1, json.Token(nil); depth > 0; {
		token, err := d.Token()
		if err != nil {
			// The head ends within the object.
			return found && len(head) == HeadSize
		}
		switch token {
		case json.Delim('{'):
			found = found || depth == 2 && last == json.Delim('[')
			depth++
		case json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		last = token
	}
	return found && len(bytes.TrimSpace(head[d.InputOffset():])) == 0
}

// geoType returns the type that an object of GeoJSON says it is, as far as the head
// shows it.
func geoType(head []byte) string {
	d := json.NewDecoder(bytes.NewReader(head))
	if opening, err := d.Token(); err != nil || opening != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if key == "type" {
			return strings.Trim(string(value), `"`)
		}
	}
	return ""
}

func isEmptyCollection(text []byte) bool {
	var c struct{ Features []json.RawMessage }
	return json.Unmarshal(text, &c) == nil && len(c.Features) == 0
}

// single reads a feature that is the whole file.
func (j *jsonParts) single() error {
	j.left = MaxValue
	var row json.RawMessage
	if err := j.decoder.Decode(&row); err != nil {
		return err
	}
	if _, err := j.decoder.Token(); err != io.EOF {
		return errNotArrays
	}
	flat := j.feature(row)
	if j.geometry == "" {
		return errNotArrays // no feature, whatever its type
	}
	return j.addPart("features", func(out io.Writer) error {
		var line bytes.Buffer
		if err := json.Compact(&line, flat); err != nil {
			return err
		}
		_, err := out.Write(line.Bytes())
		return err
	})
}

// unpack reads the object.
func (j *jsonParts) unpack() error {
	j.left = MaxValue
	if _, err := j.decoder.Token(); err != nil {
		return err
	}
	for j.more() {
		key, err := j.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		if err := j.member(name); err != nil {
			return err
		}
	}
	if _, err := j.decoder.Token(); err != nil {
		return err
	}
	if _, err := j.decoder.Token(); err != io.EOF {
		return errNotArrays
	}
	return nil
}

// more allows for the next value, and reports whether there is one.
func (j *jsonParts) more() bool {
	j.left = MaxValue
	return j.decoder.More()
}

// member reads a value of the object.
func (j *jsonParts) member(key string) error {
	opening, err := j.decoder.Token()
	if err != nil {
		return err
	}
	if opening != json.Delim('[') {
		j.skip(key)
		if opening == json.Delim('{') {
			return j.finish(1)
		}
		return nil
	}
	if !j.more() {
		return j.finish(1)
	}
	var row json.RawMessage
	if err := j.decoder.Decode(&row); err != nil {
		return err
	}
	if row[0] != '{' {
		j.skip(key)
		return j.finish(1)
	}
	return j.addPart(key, func(out io.Writer) error { return j.rows(row, out) })
}

// addPart adds a table whose rows are written as lines.
func (j *jsonParts) addPart(key string, write func(io.Writer) error) error {
	path, err := j.r.WriteTemp(write)
	if err != nil {
		return err
	}
	return j.found.add(j.in.Name, Part{Name: key, Format: JSONLines, In: Input{Path: path, Whole: j.geometry}})
}

func (j *jsonParts) skip(key string) {
	if key != "type" && len(j.skipped) < MaxNamed {
		j.skipped = append(j.skipped, Excerpt(key))
	}
}

// finish reads to the end of the value that is open at a depth.
func (j *jsonParts) finish(depth int) error {
	for depth > 0 {
		j.left = MaxValue
		token, err := j.decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// rows writes the elements of an array, of which the first was read, to lines.
func (j *jsonParts) rows(row json.RawMessage, out io.Writer) error {
	limited := &limitedWriter{out: out, left: j.r.unpackLimit()}
	lines := bufio.NewWriter(limited)
	var line bytes.Buffer
	for {
		j.r.unpacked += int64(len(row))
		line.Reset()
		if err := json.Compact(&line, j.feature(row)); err != nil {
			return err
		}
		line.WriteByte('\n')
		if _, err := lines.Write(line.Bytes()); err != nil {
			return err
		}
		if !j.more() {
			break
		}
		row = row[:0]
		if err := j.decoder.Decode(&row); err != nil {
			return err
		}
	}
	if _, err := j.decoder.Token(); err != nil {
		return err
	}
	return lines.Flush()
}

// feature makes a row of a feature of GeoJSON: its properties, its id, and its geometry
// as JSON. Other objects are rows as they are.
func (j *jsonParts) feature(row json.RawMessage) json.RawMessage {
	var f struct {
		Type       string
		ID         json.RawMessage
		Properties json.RawMessage
		Geometry   json.RawMessage
	}
	if !bytes.Contains(row, []byte(`"Feature"`)) || json.Unmarshal(row, &f) != nil || f.Type != "Feature" || f.Geometry == nil {
		return row
	}
	var names []string
	values, taken := map[string][]byte{}, map[string]bool{}
	switch {
	case bytes.HasPrefix(f.Properties, []byte("{")):
		for key, value := range jsonscan.Members(f.Properties) {
			name := string(key)
			if values[name] == nil {
				names = append(names, name)
			}
			values[name], taken[domain.FoldColumn(name)] = value, true
		}
	case f.Properties != nil && string(f.Properties) != "null":
		return row
	}
	if j.geometry == "" {
		j.geometry = "geometry"
		if taken["geometry"] {
			j.geometry = "feature_geometry"
		}
	}
	var out bytes.Buffer
	out.WriteByte('{')
	if f.ID != nil && !taken["id"] {
		fmt.Fprintf(&out, `"id":%s,`, f.ID)
	}
	for _, name := range names {
		key, _ := json.Marshal(name)
		fmt.Fprintf(&out, `%s:%s,`, key, values[name])
	}
	fmt.Fprintf(&out, `%q:%s}`, j.geometry, f.Geometry)
	return out.Bytes()
}

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
