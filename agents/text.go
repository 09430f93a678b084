package agents

import (
	"strings"
	"unicode"
)

// Limits of texts of a model, in bytes.
const (
	maxInstruction = 2 << 10
	maxReasoning   = 8 << 10
	maxAnswer      = 256 << 10
	maxQuery       = 64 << 10
	maxReason      = 2 << 10
)

// clean makes an untrusted text storable: at most limit bytes of valid UTF-8, without NUL.
func clean(text string, limit int) string {
	text = strings.TrimSpace(text)
	// Only the part within the limit is scanned.
	long := len(text) > limit
	if long {
		text = text[:limit]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if !long && len(text) <= limit {
		return strings.TrimSpace(text)
	}
	whole := strings.ToValidUTF8(text[:min(len(text), max(limit-len("…"), 0))], "") // without a part of a character
	return strings.TrimSpace(whole) + "…"
}

// oneLine is clean for a text of one line.
func oneLine(text string, limit int) string {
	// A narrow space stands between the digits of a number.
	blank := func(r rune) bool { return unicode.IsSpace(r) && r != '\u202f' }
	return clean(strings.Join(strings.FieldsFunc(clean(text, limit), blank), " "), limit)
}

// sentence ends a text with a full stop if it has none.
func sentence(text string) string {
	if end := strings.TrimSuffix(text, "”"); end == "" || strings.ContainsAny(end[len(end)-1:], ".!?") || strings.HasSuffix(end, "…") {
		return text
	}
	return text + "."
}
