package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/llm/eval"
	"parley/llm/reader/ir"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/sqlread"
)

// question is a line of a folder's questions.
type question struct {
	eval.Question
	After []string `json:"after"`
}

// lines decodes a file of JSON lines, packed if its name ends with .gz.
func lines[T any](path string, each func(T) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		s = bufio.NewScanner(z)
	}
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var v T
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("%s: %w: %s", path, err, s.Text())
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return s.Err()
}

// folders returns the names of the databases in a folder.
func folders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (c *converter) suite(set, dir string) error {
	names, err := folders(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		d, err := open(set+"/"+name, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = lines(filepath.Join(dir, name, "questions.jsonl"), func(q question) error { return c.convertQuestion(d, q) })
		if err != nil {
			return err
		}
		d.Close()
	}
	return nil
}

func (c *converter) convertQuestion(d *database, q question) error {
	if q.SQL == "" {
		return c.writeUnanswerable(d, q)
	}
	tree, err := sqlread.Read(q.SQL, d.Catalog)
	if err != nil {
		c.count(d.name, err.Error(), q.Question.Question, q.SQL)
		return nil
	}
	if q.Answer == nil {
		want, err := d.Rows(q.SQL)
		if err != nil {
			c.count(d.name, "gold: "+err.Error(), q.Question.Question, q.SQL)
			return nil
		}
		q.Answer, q.Match = want, eval.MatchRows
	}
	return c.writeChecked(d, q.Question.Question, q.After, tree, &q.Question)
}

// writeUnanswerable writes a question without an answer in the data.
func (c *converter) writeUnanswerable(d *database, q question) error {
	c.counts["none"]++
	return c.out.Encode(dataset.Example{DB: d.name, Question: q.Question.Question, After: q.After})
}

// spider converts Spider's own questions and those of Spider-Syn. The same SQL has the
// same answer.
func (c *converter) spider(file, dir string) error {
	type item struct{ Question, SQL, DB, Source string }
	byDB := map[string][]item{}
	if err := lines(file, func(i item) error {
		byDB[strings.ToLower(i.DB)] = append(byDB[strings.ToLower(i.DB)], i)
		return nil
	}); err != nil {
		return err
	}
	names, err := folders(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		answers := map[string]*eval.Question{}
		if err := lines(filepath.Join(dir, name, "questions.jsonl"), func(q eval.Question) error {
			answers[plainSQL(q.SQL)] = &q
			return nil
		}); err != nil {
			return err
		}
		d, err := open("spider/"+name, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, i := range byDB[name] {
			tree, err := sqlread.Read(i.SQL, d.Catalog)
			if err != nil {
				c.count(d.name, err.Error(), i.Question, i.SQL)
				continue
			}
			if err := c.writeChecked(d, i.Question, nil, tree, answers[plainSQL(i.SQL)]); err != nil {
				return err
			}
		}
		d.Close()
	}
	return nil
}

func plainSQL(sql string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(sql, "; ")), " "))
}

// wtq converts parses of WikiTableQuestions, which are lists of keywords and
// references.
func (c *converter) wtq(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	var parses map[string][][2]json.RawMessage
	if err := json.NewDecoder(z).Decode(&parses); err != nil {
		return err
	}
	names, err := folders(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		answers := map[string]*eval.Question{}
		if err := lines(filepath.Join(dir, name, "questions.jsonl"), func(q eval.Question) error {
			answers[q.Question] = &q
			return nil
		}); err != nil {
			return err
		}
		d, err := open("wtq/"+name, filepath.Join(dir, name))
		if err != nil {
			c.count(name, "open: "+err.Error(), "", "")
			continue
		}
		for _, p := range parses[name] {
			var text string
			if err := json.Unmarshal(p[0], &text); err != nil {
				return err
			}
			tree, err := parseOldForm(p[1])
			if err != nil {
				c.count(d.name, err.Error(), text, string(p[1]))
				continue
			}
			if err := c.writeChecked(d, text, nil, tree, answers[text]); err != nil {
				return err
			}
		}
		d.Close()
	}
	return nil
}

// parseOldForm parses a query in the earlier form of the language.
func parseOldForm(raw json.RawMessage) (*ir.Query, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, err
	}
	var words []string
	var values []ir.Value
	for _, p := range parts {
		var word string
		if json.Unmarshal(p, &word) == nil {
			words = append(words, word)
			continue
		}
		var ref [2]any
		if err := json.Unmarshal(p, &ref); err != nil {
			return nil, err
		}
		if ref[0] == "v" {
			words = append(words, fmt.Sprintf("v%d", len(values)))
			values = append(values, ir.Value{Text: fmt.Sprint(ref[1])})
			continue
		}
		words = append(words, fmt.Sprintf("%s%.0f", ref[0], ref[1]))
	}
	words = convertKeywords(words)
	tokens, err := ir.ParseText(strings.Join(words, " "))
	if err != nil {
		return nil, err
	}
	return ir.Parse(tokens, values)
}

// convertKeywords converts keywords of the earlier form to current ones.
func convertKeywords(words []string) []string {
	var all []string
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "year" && i+2 < len(words) && slices.Contains([]string{"=", "!=", ">", "<", ">=", "<="}, words[i+2]):
			// A date is compared with the year as a period.
		case w == "month":
			all = append(all, "monthof")
		case w == "mul":
			all = append(all, "times")
		case w == "diff" && i+4 < len(words):
			all = append(all, "diff", "max", words[i+1], words[i+2], "=", words[i+3], "vs", words[i+2], "=", words[i+4])
			i += 4
		case (w == "-" || w == "/" || w == "+") && i > 0 && strings.HasPrefix(words[i-1], "c") && i > 1 && !slices.Contains([]string{"sum", "avg", "median", "min", "max", "count"}, words[i-2]):
			all = append(all, map[string]string{"-": "less", "/": "over", "+": "plus"}[w])
		default:
			all = append(all, w)
		}
	}
	return all
}
