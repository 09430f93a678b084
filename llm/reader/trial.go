package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/rank"
)

// Limits of trying queries out.
const (
	// maxTrialRows is how many rows the tables of a query may have together.
	maxTrialRows = 2_000_000
	// maxTrialTime is how long one may take, and maxTrialsTime all of a job together.
	maxTrialTime  = 5 * time.Second
	maxTrialsTime = 15 * time.Second
)

// trialRunner try the queries of a job out, one after the other.
type trialRunner struct {
	data llm.Data
	cat  *catalog.Catalog
	// remaining is the time that is left for them. ended says that some had no result in
	// time: then what they say may be another thing next time.
	remaining time.Duration
	timedOut  bool
}

// run tries a query out. One that is not valid is none; any other error ends the job. A
// query over very many rows, or that takes too long, counts as one that runs and gives
// something of its own.
func (t *trialRunner) run(ctx context.Context, sql string) (rank.Result, bool, error) {
	unknown := rank.Result{Key: sql}
	if tableRows(sql, t.cat) > maxTrialRows {
		return unknown, true, ctx.Err()
	}
	trial, cancel := context.WithTimeout(ctx, min(maxTrialTime, t.remaining))
	defer cancel()
	start := time.Now()
	rows, err := t.data.Query(trial, sql)
	t.remaining -= time.Since(start)
	switch {
	case err != nil && ctx.Err() != nil:
		return rank.Result{}, false, ctx.Err()
	case err != nil && trial.Err() != nil:
		t.timedOut = true
		return unknown, true, nil
	case errors.Is(err, llm.ErrBadQuery):
		return rank.Result{}, false, nil
	case err != nil:
		return rank.Result{}, false, err
	}
	result, ok, err := decodeResult(rows)
	if rows.Truncated {
		result.Key = sql // which rows came first says nothing
	}
	return result, ok, err
}

// tableRows is how many rows the tables have that a query names, at most.
func tableRows(sql string, cat *catalog.Catalog) int64 {
	var all int64
	for i := range cat.Tables {
		if strings.Contains(sql, ir.Ident(cat.Tables[i].Name)) {
			all += cat.Tables[i].Rows
		}
	}
	return all
}

// decodeResult decodes rows and tells what they are. Internal columns do not count.
func decodeResult(rows llm.Rows) (rank.Result, bool, error) {
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
