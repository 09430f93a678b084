package engine

import (
	"encoding/json"
	"fmt"
	"strconv"

	duck "github.com/duckdb/duckdb-go-bindings"

	"parley/internal/domain"
	"parley/storage/datasets/match"
)

// uniqueNames returns a unique key for each column: the second of a name gets _2, and so on. The
// score's key is reserved.
func uniqueNames(names []string) []string {
	taken := map[string]bool{"__metadata": true}
	given := make(map[string]bool, len(names))
	for _, name := range names {
		given[name] = true
	}
	unique := make([]string, len(names))
	for i, name := range names {
		key := name
		for n := 2; taken[key] || key != name && given[key]; n++ {
			key = name + "_" + strconv.Itoa(n)
		}
		taken[key] = true
		unique[i] = key
	}
	return unique
}

// rowWriter turns a result's chunks into rows.
type rowWriter struct {
	columns []domain.Column
	keys    [][]byte
	types   []column
	score   int
	values  []appender
}

// newRowWriter reads the columns of a result.
func newRowWriter(res *duck.Result) (*rowWriter, error) {
	w := &rowWriter{score: -1}
	count := int(duck.ColumnCount(res))
	names := make([]string, count)
	for i := range count {
		names[i] = duck.ColumnName(res, duck.IdxT(i))
	}
	for i := range count {
		if w.score < 0 && names[i] == match.ScoreColumn {
			w.score = i
		}
	}
	for i, key := range uniqueNames(names) {
		t := duck.ColumnLogicalType(res, duck.IdxT(i))
		c, err := newColumn(t)
		duck.DestroyLogicalType(&t)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w; cast it to VARCHAR", names[i], err)
		}
		w.types = append(w.types, c)
		w.keys = append(w.keys, append(appendText(nil, key), ':'))
		if i != w.score {
			w.columns = append(w.columns, domain.Column{Name: key, Type: c.name})
		}
	}
	w.values = make([]appender, count)
	return w, nil
}

// bind sets the chunk that append reads.
func (w *rowWriter) bind(chunk duck.DataChunk) {
	for i, c := range w.types {
		w.values[i] = c.bind(duck.DataChunkGetVector(chunk, duck.IdxT(i)))
	}
}

// append appends a row of the bound chunk.
func (w *rowWriter) append(buf []byte, row uint64) []byte {
	buf = append(buf, '{')
	score := 1.0
	for i, value := range w.values {
		if i == w.score {
			score = parseScore(value(nil, row))
			continue
		}
		buf = append(buf, w.keys[i]...)
		at := len(buf)
		buf = value(buf, row)
		if nestsDeeper(buf[at:], maxNesting) {
			buf = appendText(buf[:at], string(buf[at:]))
		}
		buf = append(buf, ',')
	}
	return append(appendScore(buf, score), '}')
}

// parseScore reads a score from the JSON of any type. It is 0 for NULL and other values.
func parseScore(value []byte) float64 {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	score, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return score
}
