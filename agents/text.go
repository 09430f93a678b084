package agents

import (
	"strings"
	"unicode/utf8"
)

// The most bytes of what a model wrote that are passed on.
const (
	maxInstruction = 2 << 10
	maxReasoning   = 8 << 10
	maxAnswer      = 256 << 10
	maxQuery       = 64 << 10
	maxReason      = 2 << 10
)

// clean gives what may be passed on of a text that somebody else wrote: at most
// limit bytes of UTF-8, without NUL, which not every store takes.
func clean(text string, limit int) string {
	text = strings.TrimSpace(text)
	// What is past the limit need not be looked at.
	long := len(text) > limit
	if long {
		text = text[:limit]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if !long && len(text) <= limit {
		return strings.TrimSpace(text)
	}
	return strings.TrimSpace(cut(text, limit-len("…"))) + "…"
}

// cut shortens valid UTF-8 to at most limit bytes, between characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:max(limit, 0)]
}

// oneLine is clean for a text that must not break a line.
func oneLine(text string, limit int) string {
	return clean(strings.Join(strings.Fields(clean(text, limit)), " "), limit)
}

// sentence ends a text that is to be followed by another.
func sentence(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") || strings.HasSuffix(text, "…") {
		return text
	}
	return text + "."
}
