package catalog

import "strings"

// separators are what separates several values in a cell.
var separators = []string{", ", "; ", " | ", " / ", ",", ";", "|", "/"}

const (
	// minLists is the minimum number of different lists in a column of lists.
	minLists = 5
	// maxItemWords is the maximum number of words of an item on average: more are sentences.
	maxItemWords = 4
)

// listSeparator returns what separates the values in the cells of a column of lists; "" for other columns. Items of lists are
// repeated, in different places: Berlin of "Berlin, Germany" is always first.
func listSeparator(values []string) string {
	for _, separator := range separators {
		if isLists(values, separator) {
			return separator
		}
	}
	return ""
}

func isLists(values []string, separator string) bool {
	type places struct{ first, later int }
	items := map[string]places{}
	lists, total, words := 0, 0, 0
	for _, v := range values {
		parts := strings.Split(v, separator)
		if len(parts) > 1 {
			lists++
		}
		for i, item := range parts {
			item = strings.ToLower(strings.TrimSpace(item))
			if item == "" || strings.ContainsAny(item, "0123456789") {
				return false
			}
			at := items[item]
			if i == 0 {
				at.first++
			} else {
				at.later++
			}
			items[item] = at
			total++
			words += 1 + strings.Count(item, " ")
		}
	}
	repeated, moved := 0, 0
	for _, at := range items {
		if at.first+at.later > 1 {
			repeated++
			if at.first > 0 && at.later > 0 {
				moved++
			}
		}
	}
	return lists >= minLists && 3*lists >= len(values) && 2*len(items) <= total && words <= maxItemWords*total && 2*moved >= repeated
}
