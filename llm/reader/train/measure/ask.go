package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/llm/eval"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/duck"
	"parley/llm/reader/train/outcome"
)

// question is one of a suite, with those that are asked before it.
type question struct {
	eval.Question
	After []string `json:"after"`
}

// database asks the questions about one database.
func database(n *net.Net, j job) ([]outcome.Outcome, error) {
	db, err := duck.Open(j.dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	f, err := os.Open(filepath.Join(j.dir, "questions.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []outcome.Outcome
	var failed error
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var q question
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.UseNumber()
		if err := d.Decode(&q); err != nil {
			return all, err
		}
		if q.Answer == nil && q.SQL != "" {
			if q.Answer, err = db.Rows(q.SQL); err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: the query of a question: %w", j.dir, err))
				continue
			}
			q.Match = eval.MatchRows
		}
		if o, ok := ask(n, db, &q); ok {
			o.Set, o.Database = j.set, j.name
			all = append(all, o)
		}
	}
	return all, errors.Join(failed, s.Err())
}

// ask asks a question after those that it follows. Where one of these is not answered,
// nobody would go on from it: ok is false.
func ask(n *net.Net, db *duck.Database, q *question) (o outcome.Outcome, ok bool) {
	var earlier *link.EarlierQuery
	for _, before := range q.After {
		readings, in, _ := read(n, db, before, earlier, map[string][][]any{})
		if len(readings) == 0 || !rank.IsSure(readings[0].Confidence) {
			return o, false
		}
		earlier = &link.EarlierQuery{Tokens: readings[0].Tokens, Values: in.Values}
	}
	start := time.Now()
	results := map[string][][]any{}
	readings, _, answerable := read(n, db, q.Question.Question, earlier, results)
	o = outcome.Outcome{Question: q.Question.Question, None: q.SQL == "" && q.Answer == nil, Follows: len(q.After) > 0, Answerable: answerable, Took: time.Since(start)}
	o.Alternative = rank.Alternative(readings, db.Catalog)
	for _, r := range readings {
		// A question that names no columns may be answered with all of them.
		rows := results[r.SQL]
		right := q.Matches(rows) || r.Whole && q.Includes(rows)
		o.Readings = append(o.Readings, outcome.Reading{Right: !o.None && right, Confidence: r.Confidence, Features: r.Features, Circumstances: r.Circumstances, SQL: r.SQL, Unread: r.Unread, Query: r.Query})
	}
	return o, true
}

// read reads a question and keeps the rows of each query.
func read(n *net.Net, db *duck.Database, text string, earlier *link.EarlierQuery, results map[string][][]any) ([]rank.Reading, *link.Input, float64) {
	tokens := link.Tokenize(text)
	in := link.New(tokens, db.Catalog, link.Values(tokens, db.Catalog, dataset.Now), earlier, nil)
	e := n.Encode(in)
	asked := rank.Question{Tokens: tokens, Input: in, Catalog: db.Catalog, Now: dataset.Now, Answerable: e.Answerable}
	readings, _ := rank.Readings(asked, n.Decode(e, db.Catalog), func(sql string) (rank.Result, bool, error) {
		got, err := db.Rows(sql)
		if err != nil {
			return rank.Result{}, false, nil
		}
		results[sql] = got
		return rank.ResultOf(got), true, nil
	})
	return readings, in, e.Answerable
}
