package reader_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/eval"
	"parley/llm/reader"
	"parley/llm/reader/ir"
	"parley/storage/datasets/ingest"
)

// What of testdata/questions must be answered right at least, and may be answered wrong
// at most, in percent. Nothing was trained or fitted on these questions.
const (
	leastRight = 70
	mostWrong  = 10
)

// load ingests the tables of a namespace, so that their columns have the types that they
// would have in use.
func load(t *testing.T, d *ducktest.Duck, space eval.Namespace) []llm.Dataset {
	t.Helper()
	var datasets []llm.Dataset
	for _, table := range space.Tables {
		result, err := ingest.Run(t.Context(), d.DB, ingest.Job{OutDir: filepath.Join(t.TempDir(), "out"), Sources: []ingest.Source{{Path: table.Path, Name: table.Name + ".csv"}}})
		if err != nil {
			t.Fatalf("%s: %v", table.Path, err)
		}
		d.Exec(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_parquet(%s)", ir.Ident(table.Name), ir.Literal(result.Files[0].Path)))
		// A column without any value is in no file.
		for _, c := range result.Columns {
			d.Exec(fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s VARCHAR", ir.Ident(table.Name), ir.Ident(c.Name)))
		}
		datasets = append(datasets, d.Dataset(table.Name))
	}
	return datasets
}

// asker answers the questions of a suite.
type asker struct {
	reader   *reader.Reader
	duck     *ducktest.Duck
	datasets []llm.Dataset
}

func (a asker) ask(ctx context.Context, _ eval.Namespace, q eval.Question) (eval.Reply, error) {
	query, err := a.reader.WriteQuery(ctx, step(a.duck, a.datasets, q.Question))
	var unanswerable *llm.UnanswerableError
	if errors.As(err, &unanswerable) {
		return eval.Reply{}, eval.Unanswered(err.Error())
	}
	if err != nil {
		return eval.Reply{}, err
	}
	rows, err := a.duck.Query(ctx, query.SQL)
	rows.Measure = query.Measure
	return eval.Reply{Query: query.SQL, Rows: rows, Confidence: query.Confidence}, err
}

// TestQuestionSuites asks plain questions about small tables, and lists those that are
// answered wrong.
func TestQuestionSuites(t *testing.T) {
	t.Parallel()
	suite, err := eval.Load(filepath.Join("testdata", "questions"))
	if err != nil {
		t.Fatal(err)
	}
	r := reader.New()
	var mu sync.Mutex
	asked, right, wrong := 0, 0, 0
	t.Run("ask", func(t *testing.T) {
		for _, space := range suite.Namespaces {
			t.Run(space.Name, func(t *testing.T) {
				t.Parallel()
				d := ducktest.New(t)
				datasets := load(t, d, space)
				for i, q := range space.Questions {
					if i%questionStep != 0 {
						continue
					}
					o := eval.Ask(t.Context(), asker{r, d, datasets}.ask, space, q)
					mu.Lock()
					asked++
					switch {
					case o.Right:
						right++
					case o.Failed:
						t.Errorf("%s: %s", q.Question, o.Error)
					case o.Error == "":
						wrong++
						t.Logf("wrong, %.2f: %s\n %s\n got %v\nwant %v", o.Confidence, q.Question, o.Query, o.Values, q.Answer)
					default:
						t.Logf("refused: %s: %s", q.Question, o.Error)
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("of %d questions %d are answered right and %d wrong", asked, right, wrong)
	// A few questions say nothing about how many are right.
	if all := questionStep == 1; all && (100*right < leastRight*asked || 100*wrong > mostWrong*asked) {
		t.Errorf("of %d questions %d are answered right and %d wrong; at least %d %% and at most %d %% should be", asked, right, wrong, leastRight, mostWrong)
	}
}
