package sqlcheck

import (
	"regexp"
	"strings"

	"parley/internal/domain"
	"parley/internal/near"
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

const (
	// maxNear is how many near misses a message names.
	maxNear = 3
	// maxNamed is how many sources of a query a message names.
	maxNamed = 5
	// maxCandidates is how many names are compared for near misses.
	maxCandidates = domain.MaxColumns
)

// didYouMean is the end of a message about a name that does not exist: near
// misses, or, when there are none, the first of what exists under the heading.
func didYouMean(name string, candidates []string, heading string) string {
	if names := near.Names(name, candidates[:min(len(candidates), maxCandidates)], maxNear); len(names) > 0 {
		return "; did you mean " + quoteAll(names, " or ") + "?"
	}
	if heading == "" || len(candidates) == 0 {
		return ""
	}
	const most = 20
	if len(candidates) > most {
		return "; " + heading + " " + quoteAll(candidates[:most], ", ") + " and more"
	}
	return "; " + heading + " " + quoteAll(candidates, ", ")
}

func quoteAll(names []string, between string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "`" + name + "`"
	}
	return strings.Join(quoted, between)
}
