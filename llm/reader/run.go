package reader

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
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
		return resultOf(rows)
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

// resultOf tells results apart by their values, in any order of rows and whatever the
// columns are called.
func resultOf(rows llm.Rows) (rank.Result, bool, error) {
	result := rank.Result{Rows: len(rows.Rows), Empty: true}
	lines := make([]string, len(rows.Rows))
	for i, text := range rows.Rows {
		var row map[string]json.RawMessage
		if err := json.Unmarshal(text, &row); err != nil {
			return rank.Result{}, false, err
		}
		var line strings.Builder
		for _, name := range rows.Columns {
			cell := comparable(row[name])
			result.Empty = result.Empty && cell == "null"
			line.WriteString(cell)
			line.WriteByte('\n')
		}
		lines[i] = line.String()
	}
	slices.Sort(lines)
	for i := 1; i < len(lines); i++ {
		result.Repeated = result.Repeated || lines[i] == lines[i-1]
	}
	hash := sha256.New()
	for _, line := range lines {
		_, _ = hash.Write([]byte(line + "\n"))
	}
	if rows.Truncated {
		_, _ = hash.Write([]byte("truncated"))
	}
	result.Key = string(hash.Sum(nil))
	return result, true, nil
}

// significant is how many digits of a number count: sums differ in the last ones by the
// order of their terms.
const significant = 12

// comparable gives a cell as text that is the same for the same value.
func comparable(cell json.RawMessage) string {
	if len(cell) == 0 {
		return "null"
	}
	if c := cell[0]; c == '-' || '0' <= c && c <= '9' {
		if n, err := strconv.ParseFloat(string(cell), 64); err == nil && (len(cell) <= significant || strings.ContainsAny(string(cell), ".eE")) {
			return strconv.FormatFloat(n, 'g', significant, 64)
		}
	}
	return string(cell)
}
