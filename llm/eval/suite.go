package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxLine is the most bytes of a line of questions.
const maxLine = 16 << 20

// Suite is questions over tables.
type Suite struct {
	Name       string
	Source     string
	Licence    string
	Note       string
	Namespaces []Namespace
}

// Namespace is some tables and the questions about them.
type Namespace struct {
	Name      string
	Tables    []Table
	Questions []Question
}

// Table is a CSV file to be loaded as a dataset.
type Table struct {
	Name string
	Path string
}

// How results are compared with answers.
const (
	// MatchRows compares rows, in any order of the columns.
	MatchRows = "rows"
	// MatchValues compares the set of all values.
	MatchValues = "values"
)

// Question is one question and its answer.
type Question struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	// Answer is rows of values: texts, json.Number, booleans and nil.
	Answer [][]any `json:"answer"`
	Match  string  `json:"match"`
	// Ordered says that the order of rows counts.
	Ordered bool   `json:"ordered"`
	SQL     string `json:"sql"`
	// Alternatives are other answers that are right too.
	Alternatives [][][]any `json:"alternatives"`
	// Blocks are sizes of groups of rows inside of which any order is right.
	Blocks []int    `json:"blocks"`
	Raw    []string `json:"raw"`
	Tags   []string `json:"tags"`
}

// Load reads a suite from its folder.
func Load(dir string) (*Suite, error) {
	suite := &Suite{}
	var about struct{ Name, Source, Licence, Note string }
	text, err := os.ReadFile(filepath.Join(dir, "suite.json"))
	if err != nil {
		return nil, fmt.Errorf("read suite: %w", err)
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return nil, fmt.Errorf("read suite.json: %w", err)
	}
	suite.Name, suite.Source, suite.Licence, suite.Note = about.Name, about.Source, about.Licence, about.Note
	if suite.Name == "" {
		suite.Name = filepath.Base(dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read suite: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		space, err := loadNamespace(filepath.Join(dir, entry.Name()), entry.Name())
		if err != nil {
			return nil, err
		}
		suite.Namespaces = append(suite.Namespaces, space)
	}
	if len(suite.Namespaces) == 0 {
		return nil, errors.New("read suite: it has no namespaces")
	}
	return suite, nil
}

func loadNamespace(dir, name string) (Namespace, error) {
	space := Namespace{Name: name}
	files, err := filepath.Glob(filepath.Join(dir, "tables", "*.csv"))
	if err != nil {
		return space, fmt.Errorf("read namespace %s: %w", name, err)
	}
	for _, file := range files {
		space.Tables = append(space.Tables, Table{Name: strings.TrimSuffix(filepath.Base(file), ".csv"), Path: file})
	}
	f, err := os.Open(filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return space, fmt.Errorf("read namespace %s: %w", name, err)
	}
	defer f.Close()
	if space.Questions, err = readQuestions(f); err != nil {
		return space, fmt.Errorf("read questions of %s: %w", name, err)
	}
	return space, nil
}

// readQuestions reads a question a line.
func readQuestions(r io.Reader) ([]Question, error) {
	var questions []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		var q Question
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&q); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case q.ID == "" || q.Question == "":
			return nil, fmt.Errorf("line %d: a question needs an id and a text", n)
		case q.Match == "":
			q.Match = MatchRows
		case q.Match != MatchRows && q.Match != MatchValues:
			return nil, fmt.Errorf("line %d: match is rows or values, not %q", n, q.Match)
		}
		questions = append(questions, q)
	}
	return questions, lines.Err()
}
