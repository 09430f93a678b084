package domain

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxColumns is the most columns of a dataset, MaxColumnName the most characters of
// a column's name.
const (
	MaxColumns    = 2_000
	MaxColumnName = 256
)

// CheckColumnName returns what is wrong with the name of a column, "" when it is
// right.
func CheckColumnName(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case strings.HasPrefix(name, "__"):
		return "must not start with __, which is for internal use"
	case utf8.RuneCountInString(name) > MaxColumnName:
		return fmt.Sprintf("must be at most %d characters", MaxColumnName)
	case strings.ContainsRune(name, 0):
		return "must not hold the character NUL"
	}
	return ""
}

// CutColumnName returns the start of a name that is too long for a column with a suffix of ASCII
// and a number behind its name, and the suffix.
func CutColumnName(name, suffix string) string {
	left := MaxColumnName - len(suffix) - len("_2000") // MaxColumns
	for i := range name {
		if left == 0 {
			return strings.TrimSpace(name[:i]) + suffix
		}
		left--
	}
	return name + suffix
}

// FoldColumn returns the form in which DuckDB compares names of columns: only A to Z lose their
// case.
func FoldColumn(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// IsYear reports whether a text is a year, from 1000 to 2999.
func IsYear(text string) bool {
	return len(text) == 4 && (text[0] == '1' || text[0] == '2') && strings.Trim(text, "0123456789") == ""
}
