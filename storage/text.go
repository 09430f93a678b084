package storage

import "strings"

// Truncate keeps the first limit bytes of a text, cut between characters, and shows
// with … that there was more.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
