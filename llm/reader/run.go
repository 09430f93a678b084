package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/rank"
)

// maxTrialRows is how many rows the tables of a query may have together for it to be
// tried out.
const maxTrialRows = 2_000_000

// try gives the way in which the queries of a question are tried out. One that is not
// valid is none; any other error ends the job. A query over very many rows counts as one
// that runs and gives something of its own.
func try(ctx context.Context, data llm.Data, cat *catalog.Catalog) rank.Run {
	return func(sql string) (rank.Result, bool, error) {
		if rowsRead(sql, cat) > maxTrialRows {
			return rank.Result{Key: sql}, true, ctx.Err()
		}
		rows, err := data.Query(ctx, sql)
		if errors.Is(err, llm.ErrBadQuery) {
			return rank.Result{}, false, nil
		}
		if err != nil {
			return rank.Result{}, false, err
		}
		result, ok, err := resultOf(rows)
		if rows.Truncated {
			result.Key = sql // which rows came first says nothing
		}
		return result, ok, err
	}
}

// rowsRead is how many rows the tables have that a query names, at most.
func rowsRead(sql string, cat *catalog.Catalog) int64 {
	var all int64
	for i := range cat.Tables {
		if strings.Contains(sql, ir.Ident(cat.Tables[i].Name)) {
			all += cat.Tables[i].Rows
		}
	}
	return all
}

// resultOf decodes rows and tells what they are. Internal columns do not count.
func resultOf(rows llm.Rows) (rank.Result, bool, error) {
	cells := make([][]any, len(rows.Rows))
	for i, text := range rows.Rows {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			return rank.Result{}, false, fmt.Errorf("read a row: %w", err)
		}
		for _, name := range rows.Columns {
			if !strings.HasPrefix(name, "__") {
				cells[i] = append(cells[i], row[name])
			}
		}
	}
	return rank.ResultOf(cells), true, nil
}
