package eval

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// matchesValues reports whether the set of all values equals the set of answers.
func (q *Question) matchesValues(rows [][]any) bool {
	answers := q.answers()
	var values []any
	for _, row := range rows {
		for _, v := range row {
			if !containsValue(values, v) {
				values = append(values, v)
			}
		}
	}
	if len(values) != len(answers) {
		return false
	}
	return paired(values, answers)
}

// paired reports whether each value can be given an answer of its own.
func paired(values []any, answers []answer) bool {
	owner := make([]int, len(answers)) // the value that has the answer, from 1
	var give func(v int, seen []bool) bool
	give = func(v int, seen []bool) bool {
		for i, a := range answers {
			if seen[i] || !a.met(values[v]) {
				continue
			}
			seen[i] = true
			if owner[i] == 0 || give(owner[i]-1, seen) {
				owner[i] = v + 1
				return true
			}
		}
		return false
	}
	for v := range values {
		if !give(v, make([]bool, len(answers))) {
			return false
		}
	}
	return true
}

// answer is one answer, in its canonical form and as its author wrote it.
type answer struct {
	canonical any
	raw       string
}

func (a answer) met(v any) bool {
	return sameValue(a.canonical, v) || a.raw != "" && sameValue(a.raw, v)
}

// answers are the distinct answers.
func (q *Question) answers() []answer {
	var all []answer
	n := 0
	for _, row := range q.Answer {
		for _, v := range row {
			a := answer{canonical: v}
			if n < len(q.Raw) {
				a.raw = q.Raw[n]
			}
			n++
			known := false
			for _, have := range all {
				known = known || sameValue(have.canonical, v)
			}
			if !known {
				all = append(all, a)
			}
		}
	}
	return all
}

func containsValue(values []any, v any) bool {
	for _, have := range values {
		if sameValue(have, v) {
			return true
		}
	}
	return false
}

// sameValue compares two values of the values rule. NULL equals nothing.
func sameValue(a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	x, y := valueText(a), valueText(b)
	if plainText(x) == plainText(y) {
		return true
	}
	if n, ok := number(ungrouped(x)); ok {
		if m, ok := number(ungrouped(y)); ok {
			return near(n, m)
		}
	}
	return dateText.MatchString(x) && dateText.MatchString(y) && strings.EqualFold(x, y)
}

var (
	dateText  = regexp.MustCompile(`^(\d{4}|xx|xxxx)-(\d{2}|xx)-(\d{2}|xx)$`)
	grouped   = regexp.MustCompile(`^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$`)
	citation  = regexp.MustCompile(`(\[[^\]]*\]|[†‡*#])$`)
	trailing  = regexp.MustCompile(`\s*\([^()]*\)$`)
	plainRune = strings.NewReplacer("‘", "'", "’", "'", "´", "'", "`", "'", "“", `"`, "”", `"`, "«", `"`, "»", `"`,
		"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "−", "-")
)

func valueText(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return cellText(v)
}

func ungrouped(text string) string {
	if grouped.MatchString(text) {
		return strings.ReplaceAll(text, ",", "")
	}
	return text
}

// plainText normalises a text: accents, quotes and dashes, what stands behind it
// in brackets, outer quotation marks, a final full stop, case and blanks.
func plainText(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	text = strings.TrimSpace(plainRune.Replace(b.String()))
	for {
		old := text
		text = strings.TrimSpace(citation.ReplaceAllString(text, ""))
		if t := strings.TrimSpace(trailing.ReplaceAllString(text, "")); t != "" {
			text = t
		}
		if n := len(text); n > 1 && text[0] == '"' && text[n-1] == '"' {
			text = strings.TrimSpace(text[1 : n-1])
		}
		text = strings.TrimSuffix(text, ".")
		if text == old {
			break
		}
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}
