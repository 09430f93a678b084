package eval

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// matchesValues reports whether the set of all values equals the set of answers.
func (q *Question) matchesValues(rows [][]any) bool {
	var values []any
	for _, v := range slices.Concat(rows...) {
		if !slices.ContainsFunc(values, func(have any) bool { return sameValue(have, v) }) {
			values = append(values, v)
		}
	}
	answers := q.answers()
	return len(values) == len(answers) && paired(values, answers)
}

// paired reports whether each value can be assigned an answer of its own.
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

// answer is an answer, and its text as its author wrote it.
type answer struct {
	canonical any
	raw       string
}

func (a answer) met(v any) bool {
	return sameValue(a.canonical, v) || a.raw != "" && sameValue(a.raw, v)
}

func (q *Question) answers() []answer {
	var all []answer
	for i, v := range slices.Concat(q.Answer...) {
		if slices.ContainsFunc(all, func(have answer) bool { return sameValue(have.canonical, v) }) {
			continue
		}
		a := answer{canonical: v}
		if i < len(q.Raw) {
			a.raw = q.Raw[i]
		}
		all = append(all, a)
	}
	return all
}

// sameValue compares two values by the rule of MatchValues. NULL equals nothing.
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
	if v, ok := v.(bool); ok {
		return map[bool]string{true: "yes", false: "no"}[v]
	}
	return cellText(v)
}

func ungrouped(text string) string {
	if grouped.MatchString(text) {
		return strings.ReplaceAll(text, ",", "")
	}
	return text
}

// plainText normalizes a text: accents, quotes and dashes, citations and brackets at the
// end, outer quotation marks, a final full stop, case and blanks.
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
