package reader

import (
	"regexp"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/ir"
)

// averageOfGroups matches questions for the average of counts or totals of groups: "average
// number of orders per customer".
var averageOfGroups = regexp.MustCompile(`(?i)\b(?:average|avg|mean)\s+((?:(?:number|count)\s+of\s+|total\s+)(\w+)\b.*\b(?:per|each)\b)`)

// groupsQuestion returns the question for the groups whose average a question asks for; the
// question itself and false for other questions, and if a column of numbers has the figure of each group already.
func groupsQuestion(question string, datasets []llm.Dataset) (string, bool) {
	at := averageOfGroups.FindStringSubmatchIndex(question)
	if at == nil {
		return question, false
	}
	measure := catalog.Stem(strings.ToLower(question[at[4]:at[5]]))
	total := strings.HasPrefix(strings.ToLower(question[at[2]:]), "total")
	for _, d := range datasets {
		for _, c := range d.Columns {
			stems := catalog.Stems(catalog.NameWords(c.Name))
			if catalog.IsNumber(c.Type) && (total && slices.Contains(stems, "total") || !total && slices.Contains(stems, measure) && stems[len(stems)-1] != "id") {
				return question, false
			}
		}
	}
	return question[:at[0]] + question[at[2]:], true
}

// averageQuery returns the query for the average over the groups of the best reading; false
// if it has no single figure of groups.
func (f *interpretation) averageQuery() (llm.Query, bool) {
	if len(f.readings) == 0 {
		return llm.Query{}, false
	}
	best := &f.readings[0]
	sql, err := ir.AverageSQL(best.Query, f.source.Catalog, f.source.now)
	if err != nil {
		return llm.Query{}, false
	}
	return llm.Query{SQL: sql, Reasoning: f.readAs("as the average of: ") + " Groups without rows are not counted." + f.describeJoins(best) +
		f.describeParts(best) + dialog.Unused(best.Unused()), Confidence: best.Confidence}, true
}
