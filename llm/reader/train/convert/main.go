// Command convert turns questions with SQL, or with queries of an earlier form of the
// reader's language, into training examples. Where the rows of an answer are known it
// keeps those whose query, printed again, gives them.
//
//	convert suite NAME DIR > examples.jsonl     folders with tables and questions
//	convert spider FILE DIR > examples.jsonl    Spider's questions over such folders
//	convert wtq FILE DIR > examples.jsonl       parses of WikiTableQuestions
//	convert links SET DIR                       links.json of training databases, by their queries' joins
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"parley/llm/eval"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/duck"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 4 {
		log.Fatal("usage: convert suite|spider|wtq|links NAME|FILE DIR")
	}
	out := bufio.NewWriter(os.Stdout)
	c := &converter{out: json.NewEncoder(out), counts: map[string]int{}, verbose: os.Getenv("VERBOSE") != ""}
	var err error
	switch os.Args[1] {
	case "suite":
		err = c.suite(os.Args[2], os.Args[3])
	case "spider":
		err = c.spider(os.Args[2], os.Args[3])
	case "links":
		err = c.links(os.Args[2], os.Args[3])
	case "wtq":
		err = c.wtq(os.Args[2], os.Args[3])
	}
	if err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
	keys := slices.SortedFunc(maps.Keys(c.counts), func(a, b string) int { return c.counts[b] - c.counts[a] })
	for _, k := range keys {
		log.Printf("%6d %s", c.counts[k], k)
	}
}

type converter struct {
	out     *json.Encoder
	counts  map[string]int
	verbose bool
}

// database is the tables of one folder with their name.
type database struct {
	*duck.Database
	name string
}

func open(name, dir string) (*database, error) {
	db, err := duck.Open(dir)
	return &database{db, name}, err
}

// writeChecked checks a query against the answer, if there is one, and writes it.
func (c *converter) writeChecked(d *database, question string, after []string, q *ir.Query, answer *eval.Question) error {
	why, printed := check(d, question, q, answer)
	c.count(d.name, why, question, printed)
	c.counts[dataset.Part(d.name)]++
	if strings.HasPrefix(why, "value") || strings.HasPrefix(why, "ok") || strings.HasPrefix(why, "unchecked") {
		e, err := dataset.NewExample(d.name, question, after, q)
		if err != nil {
			c.count(d.name, "not part of the language: "+err.Error(), question, "")
			return nil
		}
		return c.out.Encode(e)
	}
	return nil
}

func (c *converter) count(name, why, question, printed string) {
	head, _, _ := strings.Cut(why, ": ")
	if strings.HasPrefix(why, "not part") {
		head = why
	}
	c.counts[head]++
	if c.verbose && why != "ok" && dataset.Part(name) != dataset.Validation {
		log.Printf("%s\n  %s\n  %s\n  %s", name, why, question, printed)
	}
}

// check returns the status of a query: "ok" if it gives the rows of the answer.
func check(d *database, question string, q *ir.Query, answer *eval.Question) (why, printed string) {
	tokens := link.Tokenize(question)
	found := link.Values(tokens, d.Catalog, dataset.Now)
	out, err := dataset.Tokens(q, found, d.Catalog)
	if err != nil {
		return "value: " + err.Error(), ""
	}
	input := link.New(tokens, d.Catalog, found, nil, nil)
	tree, err := ir.Parse(out, input.IRValues())
	if err != nil {
		return "parse: " + err.Error(), ir.Text(out)
	}
	printed, err = ir.SQL(tree, d.Catalog, dataset.Now)
	if err != nil {
		return "print: " + err.Error(), ir.Text(out)
	}
	if answer == nil {
		return "unchecked", printed
	}
	got, err := d.Rows(printed)
	if err != nil {
		return "run: " + err.Error(), printed
	}
	if !answer.Matches(got) && !matchesForm(tree, answer, got) && !isTransposed(tree, answer, got) && !isTie(d, tree, answer) {
		return fmt.Sprintf("other: %d rows for %d", len(got), len(answer.Answer)), printed
	}
	return "ok", printed
}
