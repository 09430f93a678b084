package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// After are the questions that are asked before it, in the same conversation.
	After []string `json:"after"`
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

// Count is how many questions and tables there are.
func (s *Suite) Count() (questions, tables int) {
	for _, space := range s.Namespaces {
		questions += len(space.Questions)
		tables += len(space.Tables)
	}
	return questions, tables
}

// Limit keeps the first questions, and the namespaces that they are about.
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

// Load reads a suite from its folder. An error says which file is wrong.
func Load(dir string) (*Suite, error) {
	suite := &Suite{}
	var about struct{ Name, Source, Licence, Note string }
	file := filepath.Join(dir, "suite.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no suite: there is no suite.json in it", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read suite: %w", err)
	}
	if err := json.Unmarshal(text, &about); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	suite.Name, suite.Source, suite.Licence, suite.Note = about.Name, about.Source, about.Licence, about.Note
	if suite.Name == "" {
		if dir, err = filepath.Abs(dir); err != nil {
			return nil, fmt.Errorf("name the suite: %w", err)
		}
		suite.Name = filepath.Base(dir)
	}
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
