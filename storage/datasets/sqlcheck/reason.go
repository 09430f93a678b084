package sqlcheck

import (
	"regexp"
	"strings"

	"parley/internal/domain"
)

var (
	// DuckDB shows the line of the statement under its message, with a caret.
	excerpt = regexp.MustCompile(`(?s)\n+LINE \d+:.*$`)
	// kindOfError begins DuckDB's messages.
	kindOfError = regexp.MustCompile(`^(?:TransactionContext Error: )?[A-Z][A-Za-z ]{1,24} Error: `)
	pathInside  = regexp.MustCompile(`(?:/[\w.@%+-]+){2,}/?|/proc\S*`)
	// advice is for the operator of DuckDB, not for the query's author: from its first
	// sentence, or one with a setting, to the end.
	advice = regexp.MustCompile(`(?s)(?:([.!])\s+[^.!\n]*|\n\s*[^.!\n]*|\s*)(?:` + settings + `|` + beginnings + `).*$`)
)

const (
	settings   = `\bRESET \w+_\w+|\bSET \w+ TO\b|(?i:\bset \w+\s*=)|\bPRAGMA \w+|'\w+' setting\b|(?i:\b(?:try|consider) (?:un)?setting\b)`
	beginnings = `(?i:candidate functions:|possible solutions|see also|launch the database|this error signals|stack trace|use the setting|\n\s*\* )`
)

// maxReason bounds a message, in bytes.
const maxReason = 500

// Reason returns DuckDB's message for the query's author, without paths and settings.
func Reason(message string) string {
	if strings.HasPrefix(message, "INTERNAL Error") || strings.HasPrefix(message, "FATAL Error") {
		return "the query engine cannot run this query"
	}
	message = excerpt.ReplaceAllString(message, "")
	message = kindOfError.ReplaceAllString(message, "")
	message = advice.ReplaceAllString(message, "$1")
	message = strings.ReplaceAll(message, "memory.main.", "")
	message = pathInside.ReplaceAllString(message, "…")
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "?")), " ")
	message = domain.Truncate(message, maxReason)
	if message == "" {
		return "the query engine cannot run this query"
	}
	return message
}
