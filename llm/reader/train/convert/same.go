package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/llm/eval"
	"parley/llm/reader/ir"
	"parley/llm/reader/train/dataset"
)

// forms are other ways in which SQL writes the parts of dates of a result. They return ""
// for what is no such part.
var forms = []func(string) string{
	func(cell string) string {
		t, err := time.Parse("January", cell)
		return number(int(t.Month()), err)
	},
	func(cell string) string { day, err := weekday(cell); return number((day+6)%7+1, err) },
	func(cell string) string { day, err := weekday(cell); return number(day, err) },
	func(cell string) string {
		t, err := time.Parse("2006-01-02T15:04:05", cell)
		return number((int(t.Month())+2)/3, err)
	},
	dateAs("2006"), dateAs("2006-01"), dateAs("2006-01-02"), dateAs("1"), dateAs("January 2006"),
}

func number(n int, err error) string {
	if err != nil {
		return ""
	}
	return strconv.Itoa(n)
}

func weekday(name string) (int, error) {
	for day := time.Sunday; day <= time.Saturday; day++ {
		if day.String() == name {
			return int(day), nil
		}
	}
	return 0, fmt.Errorf("no weekday %q", name)
}

func dateAs(layout string) func(string) string {
	return func(cell string) string {
		t, err := time.Parse("2006-01-02T15:04:05", cell)
		if err != nil {
			return ""
		}
		return t.Format(layout)
	}
}

// matchesForm reports whether the rows of a query with a part of a date are the answer in
// another form.
func matchesForm(q *ir.Query, answer *eval.Question, rows [][]any) bool {
	if !slices.ContainsFunc(q.Items, func(e ir.Expr) bool { return e.Kind == "part" }) {
		return false
	}
	return slices.ContainsFunc(forms, func(form func(string) string) bool {
		other := make([][]any, len(rows))
		for i, row := range rows {
			for _, cell := range row {
				if text, ok := cell.(string); ok && form(text) != "" {
					cell = form(text)
				}
				other[i] = append(other[i], cell)
			}
		}
		return answer.Matches(other)
	})
}

// isTie reports whether the answer has other ones of the rows that tie with the last.
func isTie(d *database, q *ir.Query, answer *eval.Question) bool {
	sql := ir.TiedSQL(q, d.Catalog, dataset.Now)
	if sql == "" || len(answer.Answer) != q.Limit {
		return false
	}
	rows, err := d.Rows(sql)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(answer.Answer, func(want []any) bool {
		return !slices.ContainsFunc(rows, func(row []any) bool { return fmt.Sprint(row) == fmt.Sprint(want) })
	})
}

// isTransposed reports whether the answer has a row for each figure that a query has in one row,
// with a label before it.
func isTransposed(q *ir.Query, answer *eval.Question, rows [][]any) bool {
	if len(rows) != 1 || len(answer.Answer) < 2 || slices.ContainsFunc(q.Items, func(e ir.Expr) bool { return len(e.Conds) == 0 }) {
		return false
	}
	want := &eval.Question{Match: eval.MatchRows}
	for _, row := range answer.Answer {
		for _, cell := range row[min(1, len(row)):] {
			want.Answer = append(want.Answer, []any{cell})
		}
	}
	var got [][]any
	for _, cell := range rows[0] {
		got = append(got, []any{cell})
	}
	return want.Matches(got)
}
