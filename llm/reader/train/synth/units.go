package synth

import (
	"strconv"

	"parley/llm/reader/catalog"
)

// unitNames has, for units of columns, other units that people use.
var unitNames = map[string][]string{
	"second": {"seconds", "minutes", "min", "hours"}, "minute": {"minutes", "min", "hours", "hrs", "h", "seconds"}, "hour": {"hours", "h", "minutes", "days"}, "day": {"days", "weeks", "hours"},
	"week": {"weeks", "days"}, "month": {"months", "years"}, "year": {"years", "months"}, "gram": {"grams", "g", "kg"}, "kilogram": {"kg", "kilos", "grams", "g", "tons"}, "tonne": {"tons", "kg"},
	"centimetre": {"cm", "meters", "mm"}, "metre": {"m", "meters", "metres", "km", "cm"}, "kilometre": {"km", "kilometers", "miles", "meters"}, "mile": {"miles", "km"}, "foot": {"feet", "meters"},
	"litre": {"liters", "ml"}, "millilitre": {"ml", "liters"}, "thousand": {"thousand", "million", "k"}, "million": {"million", "thousand", "billion", "M"}, "billion": {"billion", "million"},
}

// inUnit picks a number for a column with a unit: the one of the query, and a phrase with a
// unit.
func (m *generator) inUnit(column int) (number, words string, ok bool) {
	own := m.cat.Columns[column].Unit
	if len(unitNames[own]) == 0 {
		return "", "", false
	}
	said := pick(m, unitNames[own])
	n := strconv.Itoa(pick(m, []int{1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 90, 100}))
	from := catalog.Unit(said)
	if scale := map[string]string{"k": "thousand", "M": "million"}[said]; catalog.Dimension(own) == "count" {
		if from = said; scale != "" {
			from = scale
		}
	}
	number, ok = catalog.Convert(n, from, own)
	if len(said) > 2 || m.chance(0.5) {
		return number, n + " " + said, ok
	}
	return number, n + said, ok
}
