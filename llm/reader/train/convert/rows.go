package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"parley/llm/reader/train/dataset"
)

// take0 writes a question without a query.
func (c *converter) take0(db string, q question) error {
	return c.out.Encode(dataset.Example{DB: db, Question: q.Question.Question, After: q.After})
}

// rows runs a query.
func rows(db *sql.DB, text string) ([][]any, error) {
	r, err := db.Query(text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for r.Next() {
		cells := make([]any, len(columns))
		pointers := make([]any, len(columns))
		for i := range cells {
			pointers[i] = &cells[i]
		}
		if err := r.Scan(pointers...); err != nil {
			return nil, err
		}
		for i, c := range cells {
			cells[i] = plain(c)
		}
		all = append(all, cells)
	}
	return all, r.Err()
}

// plain gives a cell as a result in JSON has it.
func plain(cell any) any {
	switch c := cell.(type) {
	case nil, string, bool:
		return c
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64:
		return json.Number(fmt.Sprint(c))
	case time.Time:
		return c.Format("2006-01-02T15:04:05")
	}
	return fmt.Sprint(cell)
}
