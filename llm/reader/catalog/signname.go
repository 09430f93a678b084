package catalog

import (
	"strings"
	"unicode"
)

// SignNames returns the names of tables and columns with a digit or a sign, by their
// [Letters]; true for those with a digit.
func (c *Catalog) SignNames() map[string]bool { return c.signNames }

// findSignNames sets what SignNames returns.
func (c *Catalog) findSignNames() {
	c.signNames = map[string]bool{}
	add := func(name string) {
		switch letters := Letters(name); {
		case letters == "":
		case strings.ContainsFunc(letters, unicode.IsDigit):
			c.signNames[letters] = true
		case strings.ContainsFunc(name, isSign):
			c.signNames[letters] = false
		}
	}
	for i := range c.Tables {
		add(c.Tables[i].Name)
	}
	for i := range c.Columns {
		add(c.Columns[i].Name)
	}
}

func isSign(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '_' && r != ' ' }

// Letters returns the letters and digits of a text, folded.
func Letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, Fold(text))
}
