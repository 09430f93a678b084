package sandbox

import "strings"

// IsBadRowRule reports whether an error of DuckDB is because of a condition, and not of files or
// memory.
func IsBadRowRule(err error) bool {
	for _, kind := range []string{"Conversion Error", "Binder Error", "Invalid Input Error", "Out of Range Error", "Catalog Error", "Parser Error"} {
		if strings.Contains(err.Error(), kind) {
			return true
		}
	}
	return false
}

// BadRowRule is the message for the readers of a dataset whose row rules cannot be evaluated.
func BadRowRule(dataset string) string {
	return "a row rule of `" + dataset + "` does not fit its rows; its owner must change the rule"
}
