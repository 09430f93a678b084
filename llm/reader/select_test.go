package reader_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// subjects are what datasets of a large namespace are about.
var subjects = strings.Fields(`ship harbor cargo crew voyage storm anchor lighthouse island bridge river forest mountain village farm field tractor
	barn school pupil lesson exam library novel poet concert orchestra violin museum painting sculpture hospital nurse surgery pharmacy
	factory machine robot sensor battery`)

// many makes 200 datasets of 50 columns, five for each subject.
func many() []llm.Dataset {
	details := strings.Fields(`id code label status kind color weight height width depth price cost start end owner city country region rating
		score level grade rank size volume speed power voltage note comment source batch lot serial model maker origin target phase step
		flag mode group zone area site shelf box pack unit`)
	var all []llm.Dataset
	for i := range 200 {
		subject := subjects[i%len(subjects)]
		d := llm.Dataset{Name: fmt.Sprintf("%s_%s", subject, []string{"list", "log", "archive", "plan", "audit"}[i/len(subjects)]), Version: fmt.Sprint(i), Rows: 5000}
		for j, detail := range details {
			kind := "VARCHAR"
			if j%3 == 0 {
				kind = "BIGINT"
			}
			d.Columns = append(d.Columns, llm.Column{Name: subject + "_" + detail, Type: kind})
		}
		all = append(all, d)
	}
	return all
}

// manyTables makes 197 of these as tables, with three that questions are about.
func manyTables(tb testing.TB) (*ducktest.Duck, []llm.Dataset) {
	tb.Helper()
	d := ducktest.New(tb)
	datasets := many()[:197]
	for _, one := range datasets {
		var columns []string
		for _, c := range one.Columns {
			columns = append(columns, fmt.Sprintf("%s %s", c.Name, c.Type))
		}
		d.Exec("CREATE TABLE " + one.Name + " (" + strings.Join(columns, ", ") + ")")
	}
	more := []llm.Dataset{
		d.Table("patients", "patient_id BIGINT, full_name VARCHAR, birth_town VARCHAR, insurer VARCHAR", "(1, 'Ann Lee', 'Rome', 'Helvetia'), (2, 'Bo Ray', 'Oslo', 'Allianz'), (3, 'Cy Fox', 'Rome', 'Helvetia')"),
		d.Table("visits", "visit_id BIGINT, patient_id BIGINT, doctor_id BIGINT, fee DOUBLE, visited_on DATE", "(1, 1, 1, 30, '2025-01-02'), (2, 1, 2, 50, '2025-02-02'), (3, 2, 2, 70, '2025-03-02')"),
		d.Table("doctors", "doctor_id BIGINT, surname VARCHAR, specialty VARCHAR", "(1, 'Moss', 'Cardiology'), (2, 'Hill', 'Dermatology')"),
	}
	return d, append(datasets, more...)
}

// TestSelectDatasets finds the tables of a question among 200 of 50 columns each: by the
// names of tables and columns, by other words for them, by values that are known, and
// those that connect them.
func TestSelectDatasets(t *testing.T) {
	t.Parallel()
	d, datasets := manyTables(t)
	r := reader.New()
	for _, test := range []struct {
		question string
		tables   []string
	}{
		{"How many patients are there?", []string{"patients"}},
		{"What is the average fee of visits?", []string{"visits"}},
		{"List the surnames and specialties", []string{"doctors"}},
		{"Which patients have no visits?", []string{"patients", "visits"}},
		{"How many physicians are there?", []string{"doctors"}},
		// The fees of visits connect the two.
		{"For each specialty of doctors, how many patients are there?", []string{"doctors", "patients", "visits"}},
		{"How many are insured with Helvetia?", []string{"patients"}},
		{"total violin cost in violin list", []string{"violin_list"}},
	} {
		got := reader.Relevant(r, test.question, datasets)
		for _, want := range test.tables {
			if !strings.Contains(" "+strings.Join(got, " ")+" ", " "+want+" ") {
				t.Errorf("%s: %s is not among %v", test.question, want, got)
			}
		}
		if len(got) > 7 {
			t.Errorf("%s: %d tables", test.question, len(got))
		}
		_, _ = r.WriteQuery(t.Context(), step(d, datasets, test.question))
	}
	q, err := r.WriteQuery(t.Context(), step(d, datasets, "What is the average fee of visits?"))
	if err != nil || rowsOf(t, d, q.SQL) != `{"average_fee":50.0}` {
		t.Errorf("%s, %v", q.SQL, err)
	}
	task := step(d, datasets, "How many are there?")
	task.Hints = "Use the doctors dataset."
	if q, err := r.WriteQuery(t.Context(), task); err != nil || rowsOf(t, d, q.SQL) != `{"count":2}` {
		t.Errorf("with a hint: %s, %v", q.SQL, err)
	}
}

// generatedData answers the queries that profile a dataset with values of its own.
type generatedData struct{}

func (generatedData) Query(_ context.Context, sql string) (llm.Rows, error) {
	row := map[string]any{"n": 5000}
	for i := range 50 {
		if !strings.Contains(sql, fmt.Sprintf("AS v%d,", i)) && !strings.Contains(sql, fmt.Sprintf("AS v%d FROM", i)) {
			continue
		}
		values := make([]string, 120)
		for n := range values {
			values[n] = fmt.Sprintf("value %03d of %d", n, i)
		}
		row[fmt.Sprint("f", i)], row[fmt.Sprint("d", i)], row[fmt.Sprint("v", i)] = 5000, 300, values
	}
	text, err := json.Marshal(row)
	return llm.Rows{Columns: []string{"n"}, Rows: []json.RawMessage{text}}, err
}

// BenchmarkSelectDatasets asks about a namespace of 200 datasets with 50 columns each, and
// of four of them for comparison.
func BenchmarkSelectDatasets(b *testing.B) {
	questions := []string{"How many ships are there?", "What is the average cargo weight for each cargo kind?", "Which island has the highest island rating?",
		"List the nurse labels of nurses in nurse list with a level above 20.", "What is the total battery voltage by battery maker?"}
	for name, datasets := range map[string][]llm.Dataset{"200": many(), "4": many()[:4]} {
		b.Run(name, func(b *testing.B) {
			r := reader.New()
			ask := func(n int) {
				// What was read on another day is not known.
				task := llm.Task{Datasets: datasets, Data: generatedData{}, Now: now.AddDate(0, 0, n)}
				_, _ = r.WriteQuery(b.Context(), llm.QueryTask{Task: task, Instruction: questions[n%len(questions)]})
			}
			for n := range questions {
				ask(n)
			}
			n := len(questions)
			for b.Loop() {
				ask(n)
				n++
			}
		})
	}
}
