package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// genericTableWords are words in names of tables that do not name the rows.
var genericTableWords = WordSet("data dataset table sheet file csv xlsx json export import results result rows list tmp temp test")

// maxNounWords limits the words of a name that people would say; longer ones are of files.
const maxNounWords = 3

// Noun returns the words for the rows of a table: those that its owner has given, or the name without
// words such as export; employees for emp, and for the table of a file with a long name and the key
// employee_id; "" if nothing names them. Names that differ only in such words stay as they are.
func (c *Catalog) Noun(t int) string {
	noun := c.noun(t)
	for other := range c.Tables {
		if other != t && noun != "" && c.noun(other) == noun {
			return DisplayName(c.Tables[t].Name)
		}
	}
	return noun
}

func (c *Catalog) noun(t int) string {
	table := &c.Tables[t]
	if table.DisplayName != "" {
		return lowerFirst(table.DisplayName)
	}
	name := DisplayName(table.Name)
	words := strings.Fields(name)
	if len(table.Words) != len(words) || ExpandAbbreviation(strings.ToLower(name)) != "" {
		words = slices.Clone(table.Words)
	}
	isGeneric := func(w string) bool { return genericTableWords[strings.ToLower(w)] }
	if len(words) > 1 {
		words = slices.DeleteFunc(words, isGeneric)
	}
	if len(words) > maxNounWords {
		words = nil
		if key := table.Key; key >= 0 {
			if named := c.Columns[key].Words; len(named) > 1 && IdentifierWords[named[len(named)-1]] {
				return Plural(strings.Join(named[:len(named)-1], " "))
			}
		}
	}
	if !slices.ContainsFunc(words, func(w string) bool { return len(w) > 2 && !isGeneric(w) }) {
		return ""
	}
	return strings.Join(words, " ")
}

// lowerFirst returns words as they are within a sentence: Orders as orders, and HR staff as it is.
func lowerFirst(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	second, _ := utf8.DecodeRuneInString(words[size:])
	if unicode.IsUpper(second) {
		return words
	}
	return string(unicode.ToLower(first)) + words[size:]
}
