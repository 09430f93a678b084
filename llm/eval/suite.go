package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLine limits a line of questions, in bytes.
const maxLine = 16 << 20

// Suite has questions over tables.
type Suite struct {
	Name       string
	Namespaces []Namespace
}

// Namespace has some tables and the questions about them.
type Namespace struct {
	Name      string
	Tables    []Table
	Questions []Question
}

// Table is a CSV file to be loaded as a dataset.
type Table struct{ Name, Path string }

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
	// After has the questions before it in the same conversation.
	After []string `json:"after"`
	// Answer has rows of values: texts, json.Number, booleans and nil.
	Answer [][]any `json:"answer"`
	Match  string  `json:"match"`
	// Ordered says that the order of rows counts.
	Ordered bool   `json:"ordered"`
	SQL     string `json:"sql"`
	// Alternatives has other right answers.
	Alternatives [][][]any `json:"alternatives"`
	// Blocks has sizes of groups of rows within which any order is right.
	Blocks []int `json:"blocks"`
	// Raw has the values of the answer as their author wrote them.
	Raw  []string `json:"raw"`
	Tags []string `json:"tags"`
}

// Count returns the numbers of questions and tables.
func (s *Suite) Count() (questions, tables int) {
	for _, space := range s.Namespaces {
		questions += len(space.Questions)
		tables += len(space.Tables)
	}
	return questions, tables
}

// Limit keeps the first questions and their namespaces.
func (s *Suite) Limit(questions int) {
	for i := range s.Namespaces {
		space := &s.Namespaces[i]
		space.Questions = space.Questions[:min(questions, len(space.Questions))]
		if questions -= len(space.Questions); questions == 0 {
			s.Namespaces = s.Namespaces[:i+1]
			return
		}
	}
}

// Load reads a suite from its folder. Errors name the file.
func Load(dir string) (*Suite, error) {
	file := filepath.Join(dir, "suite.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no suite: there is no suite.json in it", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read suite: %w", err)
	}
	var about struct{ Name string }
	if err := json.Unmarshal(text, &about); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("name the suite: %w", err)
	}
	suite := &Suite{Name: cmp.Or(about.Name, filepath.Base(path))}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read suite: %w", err)
	}
	ids := map[string]string{}
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		space, err := loadNamespace(filepath.Join(dir, entry.Name()), entry.Name())
		if err != nil {
			return nil, err
		}
		for _, q := range space.Questions {
			if other, known := ids[q.ID]; known {
				return nil, fmt.Errorf("the id %q is in %s and again in %s", q.ID, other, space.Name)
			}
			ids[q.ID] = space.Name
		}
		suite.Namespaces = append(suite.Namespaces, space)
	}
	if len(suite.Namespaces) == 0 {
		return nil, fmt.Errorf("%s has no namespaces: each is a folder with questions.jsonl and tables", dir)
	}
	return suite, nil
}

func loadNamespace(dir, name string) (Namespace, error) {
	space := Namespace{Name: name}
	tables := filepath.Join(dir, "tables")
	entries, err := os.ReadDir(tables)
	if err != nil {
		return space, fmt.Errorf("read namespace %s: %w", name, err)
	}
	for _, entry := range entries {
		if table, is := strings.CutSuffix(entry.Name(), ".csv"); is && !entry.IsDir() {
			space.Tables = append(space.Tables, Table{Name: table, Path: filepath.Join(tables, entry.Name())})
		}
	}
	if len(space.Tables) == 0 {
		return space, fmt.Errorf("namespace %s has no tables: there is no CSV file in %s", name, tables)
	}
	file := filepath.Join(dir, "questions.jsonl")
	f, err := os.Open(file)
	if err != nil {
		return space, fmt.Errorf("read namespace %s: %w", name, err)
	}
	defer f.Close()
	if space.Questions, err = readQuestions(f); err != nil {
		return space, fmt.Errorf("read %s: %w", file, err)
	}
	if len(space.Questions) == 0 {
		return space, fmt.Errorf("%s has no questions", file)
	}
	return space, nil
}

// readQuestions reads questions, one a line.
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
		case q.Answer == nil:
			return nil, fmt.Errorf("line %d: a question needs an answer: a list of rows, each a list of values", n)
		case q.Match == "":
			q.Match = MatchRows
		case q.Match != MatchRows && q.Match != MatchValues:
			return nil, fmt.Errorf("line %d: match is rows or values, not %q", n, q.Match)
		}
		questions = append(questions, q)
	}
	return questions, lines.Err()
}
