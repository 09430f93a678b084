package rules

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
)

// FuzzWriteQuery reads whatever it is given, with names of columns that are as
// odd: it must end in a query or say that it does not understand.
func FuzzWriteQuery(f *testing.F) {
	for _, seed := range [][2]string{
		{"How many dogs are there for each owner?", "dog_id,owner,age"},
		{"which was the last year before rex, the second most expensive of 'all'?", "#,%,Year"},
		{"difference between the highest and lowest age than the average, both 3 and 4 or 5 or more", ",,age"},
		{"who is next after value 3 of 1 in march 2003 or may?", "Date,value,\"x\""},
		{"not never without any no except for each every per by 12th 1,000 $5", "is_x,no,id"},
		{"more age than the dog with the most weight; the same name as value 1 of 2", "age,weight,name"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, question, names string) {
		columns := []llm.Column{{Name: "name", Type: "VARCHAR"}, {Name: "age", Type: "BIGINT"}}
		for i, name := range strings.SplitN(names, ",", 5) {
			columns = append(columns, llm.Column{Name: name, Type: []string{"VARCHAR", "DOUBLE", "DATE", "BOOLEAN", "INTEGER[]"}[i]})
		}
		all := []llm.Dataset{{Name: "dogs", Version: names, Rows: 300, Columns: columns}, {Name: names, Version: names, Columns: columns[:2]}}
		for _, datasets := range [][]llm.Dataset{all, all[:1]} {
			q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: madeUp{}}, Instruction: question})
			var unanswerable *llm.UnanswerableError
			if err != nil && !errors.As(err, &unanswerable) {
				t.Fatal(err)
			}
			if err == nil && (q.SQL == "" || q.Confidence <= 0 || q.Confidence > 1) {
				t.Fatalf("%+v", q)
			}
		}
	})
}
