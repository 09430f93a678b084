package reader_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm/eval"
	"parley/llm/reader/ir"
)

// TestPitfalls checks that the suite of questions whose wrong answers look right can
// be read, and that its queries give its answers.
func TestPitfalls(t *testing.T) {
	t.Parallel()
	suite, err := eval.Load(filepath.Join("..", "..", "cmd", "parley", "internal", "eval", "testdata", "pitfalls"))
	if err != nil {
		t.Fatal(err)
	}
	if questions, _ := suite.Count(); questions < 40 {
		t.Errorf("%d questions", questions)
	}
	followUps := 0
	for _, space := range suite.Namespaces {
		d := ducktest.New(t)
		for _, table := range space.Tables {
			d.Exec(fmt.Sprintf("CREATE TABLE %s AS FROM read_csv(%s)", ir.Ident(table.Name), ir.Literal(table.Path)))
		}
		for _, q := range space.Questions {
			if len(q.After) > 0 {
				followUps++
			}
			found, err := d.Query(t.Context(), q.SQL)
			if err != nil {
				t.Errorf("%s: %v", q.ID, err)
				continue
			}
			rows, err := eval.Values(found)
			if err != nil || !q.Matches(rows) {
				t.Errorf("%s: %s\n got %v, %v\nwant %v", q.ID, q.SQL, rows, err, q.Answer)
			}
		}
	}
	if followUps < 8 {
		t.Errorf("%d follow-ups", followUps)
	}
}
