package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// Example is a question with its reading.
type Example struct {
	// DB names the tables: a folder of a set, as in spider/farm.
	DB string `json:"db"`
	// After are the questions before it in the same conversation.
	After    []string `json:"after,omitempty"`
	Question string   `json:"question"`
	// IR is the query in the reader's language; its values are numbers in Values.
	// It is empty where the data does not hold what is asked for.
	IR     string    `json:"ir,omitempty"`
	Values []Literal `json:"values,omitempty"`
}

// Literal is a value as the query means it, whatever the question calls it.
type Literal struct {
	Text string       `json:"text"`
	Kind ir.ValueKind `json:"kind,omitempty"`
}

// NewExample writes a query with literal values.
func NewExample(db, question string, after []string, q *ir.Query) (Example, error) {
	e := Example{DB: db, Question: question, After: after}
	if q == nil {
		return e, nil
	}
	tokens, err := ir.Tokens(q, func(c *ir.Cond, n int) (ir.Token, bool) {
		v := ir.Value{Kind: ir.NumberValue, Text: fmt.Sprint(n)}
		if c != nil {
			v = c.Values[n]
		}
		e.Values = append(e.Values, Literal{v.Text, v.Kind})
		return ir.Token{Class: ir.ValueRef, N: len(e.Values) - 1}, true
	})
	e.IR = ir.Text(tokens)
	return e, err
}

// Query reads the query of an example.
func (e *Example) Query() (*ir.Query, error) {
	tokens, err := ir.ParseText(e.IR)
	if err != nil {
		return nil, err
	}
	values := make([]ir.Value, len(e.Values))
	for i, l := range e.Values {
		values[i] = ir.Value{Text: l.Text, Kind: l.Kind}
	}
	return ir.Parse(tokens, values)
}

// Target writes an example's query as tokens that point to values found in its
// question.
func (e *Example) Target(found []link.ValueMatch, cat *catalog.Catalog) ([]ir.Token, error) {
	q, err := e.Query()
	if err != nil {
		return nil, err
	}
	return Tokens(q, found, cat)
}

// ReadExamples reads a file of examples, a JSON object a line, packed if its name
// ends with .gz.
func ReadExamples(path string) ([]Example, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	var all []Example
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		var e Example
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, s.Err()
}
