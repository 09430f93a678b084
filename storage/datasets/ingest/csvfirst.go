package ingest

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/internal/domain"
)

// valueKinds are sets of kinds that values of one column may have.
var valueKinds = []kindSet{
	numberKinds | kindBig.set(), setOf(kindCode, kindInt), setOf(kindBool), setOf(kindYesNo), setOf(kindY, kindN), setOf(kindT, kindF),
	setOf(kindDate, kindTimestamp, kindInstant, kindNamedMonth) | yearLastKinds, setOf(kindTime),
}

// startsWithData reports whether the first record is not the header: it has values
// of the same kinds as the records below it, and in no column of such values a name.
// Years, numbers in equal steps, and growing whole numbers beside a text can be the names
// of columns.
func startsWithData(records []csvRecord) bool {
	if len(records) < 2 {
		return false
	}
	proofs := 0
	var numbers []string
	besideText := false
	for i, cell := range records[0].fields {
		cell = strings.TrimSpace(cell)
		above := cellKind(cell)
		below, years := kindsBelow(records[1:], i)
		switch {
		case above == kindMissing || below == 0 || below.meets(kindText.set()):
			besideText = besideText || above == kindText
			continue
		case !alike(above.set() | below):
			return false
		case numberKinds.meets(above.set()):
			numbers = append(numbers, cell)
		}
		if years || !isYear(cell) {
			proofs++
		}
	}
	return proofs > 0 && (proofs > len(numbers) || !inSteps(numbers) && !(besideText && areGrowing(numbers)))
}

// namesColumn reports whether a field is the name of a column.
func namesColumn(fields []string, columns []domain.Column) bool {
	names := make(map[string]bool, len(columns))
	for _, c := range columns {
		names[domain.FoldColumn(c.Name)] = true
	}
	return slices.ContainsFunc(fields, func(field string) bool { return names[domain.FoldColumn(strings.TrimSpace(field))] })
}

// areGrowing reports whether there are three whole numbers or more, each larger than the one before.
func areGrowing(numbers []string) bool {
	before := math.Inf(-1)
	for _, text := range numbers {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != math.Trunc(n) || n <= before {
			return false
		}
		before = n
	}
	return len(numbers) > 2
}

// kindsBelow returns the kinds of the values in a column, and whether all are years.
func kindsBelow(records []csvRecord, column int) (seen kindSet, years bool) {
	years = true
	for _, r := range records {
		if column >= len(r.fields) {
			continue
		}
		cell := strings.TrimSpace(r.fields[column])
		if k := cellKind(cell); k != kindMissing {
			seen |= k.set()
			years = years && isYear(cell)
		}
	}
	return seen, years
}

// alike reports whether values of these kinds can be in one column.
func alike(seen kindSet) bool {
	for _, kinds := range valueKinds {
		if seen.within(kinds) {
			return true
		}
	}
	return false
}

// inSteps reports whether numbers grow in equal steps. Two must be neighbors.
func inSteps(numbers []string) bool {
	if len(numbers) < 2 {
		return false
	}
	var before, step float64
	for i, text := range numbers {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false
		}
		switch {
		case i == 1:
			step = n - before
		case i > 1 && math.Abs(n-before-step) > 1e-9*math.Abs(n):
			return false
		}
		before = n
	}
	return step > 0 && (len(numbers) > 2 || step == 1)
}
