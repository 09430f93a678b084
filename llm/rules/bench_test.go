package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"parley/llm"
)

// madeUp answers the queries that learn of a dataset with made-up values.
type madeUp struct{}

func (madeUp) Query(_ context.Context, sql string) (llm.Rows, error) {
	if !strings.HasPrefix(sql, "SELECT count(*) AS n") {
		return llm.Rows{}, nil
	}
	row := map[string]any{"n": 5000}
	for i := range columnsAQuery {
		values := make([]string, 300)
		for n := range values {
			values[n] = fmt.Sprintf("value %d of %d", n, i)
		}
		row[fmt.Sprintf("f%d", i)] = 5000
		row[fmt.Sprintf("d%d", i)] = 300
		row[fmt.Sprintf("v%d", i)] = values
	}
	text, err := json.Marshal(row)
	return llm.Rows{Columns: []string{"n"}, Rows: []json.RawMessage{text}}, err
}

// manyDatasets are 200 datasets of 50 columns.
func manyDatasets() []llm.Dataset {
	nouns := strings.Fields("ship harbor cargo crew voyage storm anchor sailor captain lighthouse island coast bridge river lake forest mountain village farm field")
	var datasets []llm.Dataset
	for i := range 200 {
		d := llm.Dataset{Name: fmt.Sprintf("%s_%s_%d", nouns[i%20], nouns[(i/20+7)%20], i), Version: "1", Rows: 5000}
		for j := range 50 {
			kind := "VARCHAR"
			if j%3 == 0 {
				kind = "BIGINT"
			}
			d.Columns = append(d.Columns, llm.Column{Name: fmt.Sprintf("%s_%s_%d", nouns[j%20], nouns[(j+i)%20], j), Type: kind})
		}
		datasets = append(datasets, d)
	}
	return datasets
}

// BenchmarkManyDatasets asks about a namespace of 200 datasets with 50 columns
// each. MB is what is kept after it.
func BenchmarkManyDatasets(b *testing.B) {
	datasets := manyDatasets()
	questions := []string{
		"How many ships are there?", "What is the average cargo of voyages for each harbor?", "Which island has the most lighthouses?",
		"List the captains of crews with more than 20 sailors.", "What is the total storm of the coast river?",
	}
	rules := New()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for b.Loop() {
		task := llm.Task{Datasets: datasets, Data: madeUp{}}
		_, _ = rules.WriteQuery(b.Context(), llm.QueryTask{Task: task, Instruction: questions[n%len(questions)]})
		n++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/(1<<20), "MB")
	runtime.KeepAlive(rules)
}
