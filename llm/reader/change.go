package reader

import (
	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/dialog"
)

// Change says what the rows of a step have become since the same query had the rows before, in Markdown;
// "" if they are the same.
func Change(before llm.Rows, now llm.Step, numbers locale.Numbers) string {
	return dialog.Change(before, now, numbers)
}
