// Package sqltext quotes names and texts for SQL.
package sqltext

import "strings"

// Name quotes the name of a table or column.
func Name(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Text quotes a text.
func Text(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }
