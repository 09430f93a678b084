package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/internal/worktime"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/rank"
)

// Limits of trial runs of queries.
const (
	// maxTrialRows limits the rows of all tables of a query. The slowest measured queries
	// over so many need half of maxTrialTime: readings should depend on the data, not on the machine.
	maxTrialRows = 10_000_000
	// maxTrialTime limits the processor time of one trial run, and maxTrialsTime that of all of
	// a job.
	maxTrialTime  = 5 * time.Second
	maxTrialsTime = 15 * time.Second
)

// trialRunner runs the candidate queries of a job, one after the other.
type trialRunner struct {
	data llm.Data
	cat  *catalog.Catalog
	// remaining is the time that is left. timedOut says that a query did not end in time,
	// so that the result may differ next time.
	remaining time.Duration
	timedOut  bool
}

// run runs a query. It returns false for an invalid query; any other error ends the job. A
// query over too many rows, or one that times out, counts as valid with a result unlike any
// other.
func (t *trialRunner) run(ctx context.Context, sql string) (rank.Result, bool, error) {
	unknown := rank.Result{Key: sql}
	if tableRows(sql, t.cat) > maxTrialRows {
		return unknown, true, ctx.Err()
	}
	limit := min(maxTrialTime, t.remaining)
	trial, stop := worktime.WithLimit(ctx, limit)
	rows, err := t.data.Query(trial, sql)
	ended := trial.Err() != nil
	t.remaining -= limit - stop()
	switch {
	case err != nil && ctx.Err() != nil:
		return rank.Result{}, false, ctx.Err()
	case err != nil && ended:
		t.timedOut = true
		return unknown, true, nil
	case errors.Is(err, llm.ErrBadQuery):
		return rank.Result{}, false, nil
	case err != nil:
		return rank.Result{}, false, err
	}
	result, ok, err := decodeResult(rows)
	if rows.Truncated {
		result.Key = sql // the first rows do not identify a result
	}
	return result, ok, err
}

// tableRows returns the number of rows of all tables that a query names.
func tableRows(sql string, cat *catalog.Catalog) int64 {
	var all int64
	for i := range cat.Tables {
		if strings.Contains(sql, ir.Ident(cat.Tables[i].Name)) {
			all += cat.Tables[i].Rows
		}
	}
	return all
}

// decodeResult converts rows to a result without internal columns.
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
