package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"parley/internal/sqltext"
)

// storedTime bounds the search for addresses in the data.
const storedTime = 15 * time.Second

// storedLinks gives those of some addresses that the data holds as they are. That a
// row of a result has one proves nothing: a model that obeys the data can write a
// query that puts one together, with other rows in it, or cuts one short.
func storedLinks(ctx context.Context, task AnswerTask, used []string) links {
	kept := newLinks()
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

// storedQuery asks which of some addresses stand by themselves in a text of a
// dataset, as links.addText finds them; "" when it has no texts.
func storedQuery(d Dataset, addresses []string) string {
	var texts, near, found []string
	for _, c := range d.Columns {
		if strings.Contains(c.Type, "VARCHAR") || strings.Contains(c.Type, "JSON") {
			texts = append(texts, fmt.Sprintf("CAST(%s AS VARCHAR)", sqltext.Name(c.Name)))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	for i, address := range addresses {
		alone := `(^|[` + notInAddress + `(,;])` + regexp.QuoteMeta(address) + `[.,;:!?*_~)]*($|[` + notInAddress + `]|[,;]https?://)`
		near = append(near, fmt.Sprintf("contains(texts, %s)", sqltext.Text(address)))
		found = append(found, fmt.Sprintf("bool_or(regexp_matches(texts, %s)) AS a%d", sqltext.Text(alone), i))
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT concat_ws(' ', %s) AS texts FROM %s) WHERE %s",
		strings.Join(found, ", "), strings.Join(texts, ", "), sqltext.Name(d.Name), strings.Join(near, " OR "))
}
