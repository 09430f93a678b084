package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// maxStored is how many addresses of one answer are looked for in the data.
	maxStored  = 50
	storedTime = 15 * time.Second
)

// stored gives those of the addresses in use that the data holds as they are. That
// a row of a result has one proves nothing: a model that obeys the data can write
// a query that puts one together, with other rows in it.
func (l links) stored(ctx context.Context, task AnswerTask) links {
	kept := newLinks()
	used := slices.Sorted(maps.Keys(l.used))
	used = used[:min(len(used), maxStored)]
	if len(used) == 0 || task.Data == nil {
		return kept
	}
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	for _, d := range task.Datasets {
		if sql := storedQuery(d, used); sql != "" && lookedUp(d, task.Steps) {
			// What cannot be looked for is not there.
			if rows, err := task.Data.Query(ctx, sql); err == nil && len(rows.Rows) == 1 {
				kept.keep(used, rows.Rows[0])
			}
		}
	}
	return kept
}

// keep takes the addresses that a row of storedQuery says are there.
func (l links) keep(used []string, row json.RawMessage) {
	var held map[string]any
	_ = json.Unmarshal(row, &held)
	for i, address := range used {
		if held[fmt.Sprint("a", i)] == true {
			l.addresses[address] = true
		}
	}
}

// lookedUp reports whether a step may have read a dataset.
func lookedUp(d Dataset, steps []Step) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		return strings.Contains(strings.ToLower(s.Query), strings.ToLower(d.Name))
	})
}

// storedQuery asks which of some addresses a dataset holds; "" when it has no
// texts. One that is no more than a host is there when the host is.
func storedQuery(d Dataset, addresses []string) string {
	var texts, found []string
	for _, c := range d.Columns {
		if strings.Contains(c.Type, "VARCHAR") || strings.Contains(c.Type, "JSON") {
			texts = append(texts, fmt.Sprintf("CAST(%s AS VARCHAR)", quoteName(c.Name)))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	for i, address := range addresses {
		held, wanted := "texts", strings.TrimSuffix(address, "/")
		if parts := goodAddress.FindStringSubmatch(address); parts != nil && isRoot(parts) {
			held, wanted = "lower(texts)", normalHost(parts[1])
		}
		found = append(found, fmt.Sprintf("bool_or(contains(%s, '%s')) AS a%d", held, strings.ReplaceAll(wanted, "'", "''"), i))
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT concat_ws(' ', %s) AS texts FROM %s)", strings.Join(found, ", "), strings.Join(texts, ", "), quoteName(d.Name))
}
