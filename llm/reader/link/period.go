package link

import (
	"strconv"
	"strings"
	"time"

	"parley/llm/reader/ir"
)

var months = numberNames("january february march april may june july august september october november december", 3)
var weekdays = numberNames("monday tuesday wednesday thursday friday saturday sunday", 3)

// numberNames maps words and their abbreviations to numbers from 1.
func numberNames(words string, short int) map[string]int {
	all := map[string]int{}
	for i, w := range strings.Fields(words) {
		all[w], all[w[:short]] = i+1, i+1
	}
	return all
}

var ordinals = map[string]int{"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": 4}

const isoDay = "2006-01-02"

// span is a period with its token range.
type span struct {
	start, end int
	value      ir.Value
}

// periods finds the spans of time that a question names.
func periods(tokens []Token, now time.Time) []span {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	var all []span
	for i := 0; i < len(tokens); {
		n, from, to := periodAt(tokens[i:], today)
		if n == 0 {
			i++
			continue
		}
		all = append(all, span{i, i + n, ir.Value{Kind: ir.PeriodValue, Text: joinTexts(tokens[i : i+n]), From: from.Format(isoDay), To: to.Format(isoDay), Exact: true}})
		i += n
	}
	return all
}

func joinTexts(tokens []Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.Text
	}
	return strings.Join(words, " ")
}

// periodAt parses a period at the start of tokens: the number of tokens, and its bounds.
func periodAt(t []Token, today time.Time) (n int, from, to time.Time) {
	for _, read := range []func([]Token, time.Time) (int, time.Time, time.Time){numericDate, writtenDate, quarterOf, decadeOf, relativePeriod, yearAlone} {
		if n, from, to = read(t, today); n > 0 {
			return n, from, to
		}
	}
	return 0, from, to
}

func day(year, month, d int) time.Time {
	return time.Date(year, time.Month(month), d, 0, 0, 0, 0, time.UTC)
}

// wordAt returns the folded text of a token, "" past the end.
func wordAt(t []Token, i int) string {
	if i < len(t) {
		return t[i].Lower
	}
	return ""
}

// year reads a number that can be a year.
func year(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 4 && n >= 1500 && n <= 2100
}

// dayOf reads the day of a month: 5, 5th.
func dayOf(s string) (int, bool) {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		s = strings.TrimSuffix(s, suffix)
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= 31 && len(s) <= 2
}

// numericDate reads 2024-03-15, 2024-03, 15.03.2024 and 3/15/2024.
func numericDate(t []Token, _ time.Time) (int, time.Time, time.Time) {
	for _, layout := range []string{isoDay, "2006-1-2", "2.1.2006", "1/2/2006", "2/1/2006", "2006/1/2", "1-2-2006", "2-1-2006"} {
		if d, err := time.Parse(layout, wordAt(t, 0)); err == nil {
			return 1, d, d.AddDate(0, 0, 1)
		}
	}
	if d, err := time.Parse("2006-01", wordAt(t, 0)); err == nil {
		return 1, d, d.AddDate(0, 1, 0)
	}
	return 0, time.Time{}, time.Time{}
}

// writtenDate reads March 2024, March 5, 2024 and 5 March 2024.
func writtenDate(t []Token, _ time.Time) (int, time.Time, time.Time) {
	skip := func(i int, words ...string) int {
		for _, w := range words {
			if wordAt(t, i) == w {
				return i + 1
			}
		}
		return i
	}
	if m, ok := months[wordAt(t, 0)]; ok {
		i := skip(skip(1, "."), "of", ",")
		if y, ok := year(wordAt(t, i)); ok {
			return i + 1, day(y, m, 1), day(y, m+1, 1)
		}
		// In June to August 2024, June is of 2024 too.
		if w := wordAt(t, 1); w == "to" || w == "and" || w == "-" || w == "through" || w == "until" || w == "till" {
			if _, ok := months[wordAt(t, 2)]; ok {
				if y, ok := year(wordAt(t, 3)); ok {
					return 1, day(y, m, 1), day(y, m+1, 1)
				}
			}
		}
		d, ok := dayOf(wordAt(t, skip(1, ".")))
		if !ok {
			return 0, time.Time{}, time.Time{}
		}
		i = skip(skip(1, ".")+1, ",", "of")
		if y, ok := year(wordAt(t, i)); ok {
			return i + 1, day(y, m, d), day(y, m, d+1)
		}
		return 0, time.Time{}, time.Time{}
	}
	d, ok := dayOf(wordAt(t, 0))
	if !ok {
		return 0, time.Time{}, time.Time{}
	}
	i := skip(skip(1, "."), "of")
	m, ok := months[wordAt(t, i)]
	if !ok {
		return 0, time.Time{}, time.Time{}
	}
	i = skip(skip(i+1, "."), ",", "of")
	if y, ok := year(wordAt(t, i)); ok {
		return i + 1, day(y, m, d), day(y, m, d+1)
	}
	return 0, time.Time{}, time.Time{}
}

// quarterOf reads Q2 2024, 2024 Q2, Q2 of 2024 and second quarter of 2024.
func quarterOf(t []Token, _ time.Time) (int, time.Time, time.Time) {
	result := func(n, y, q int) (int, time.Time, time.Time) {
		return n, day(y, 3*q-2, 1), day(y, 3*q+1, 1)
	}
	if y, ok := year(wordAt(t, 0)); ok {
		i := 1
		if wordAt(t, i) == "-" {
			i++
		}
		if q, ok := quarterName(wordAt(t, i)); ok {
			return result(i+1, y, q)
		}
	}
	q, ok := quarterName(wordAt(t, 0))
	i := 1
	if o, ordinal := ordinals[wordAt(t, 0)]; !ok && ordinal && wordAt(t, 1) == "quarter" {
		q, ok, i = o, true, 2
	}
	if !ok {
		return 0, time.Time{}, time.Time{}
	}
	if w := wordAt(t, i); w == "of" || w == "in" || w == "," || w == "/" {
		i++
	}
	if y, ok := year(wordAt(t, i)); ok {
		return result(i+1, y, q)
	}
	return 0, time.Time{}, time.Time{}
}

func quarterName(s string) (int, bool) {
	if len(s) == 2 && s[0] == 'q' && s[1] >= '1' && s[1] <= '4' {
		return int(s[1] - '0'), true
	}
	return 0, false
}

// decadeOf reads 1990s and the 90s. The 20s can be those of two centuries.
func decadeOf(t []Token, _ time.Time) (int, time.Time, time.Time) {
	if short := wordAt(t, 1); wordAt(t, 0) == "the" && len(short) == len("90s") && short[0] >= '3' && short[0] <= '9' && short[1:] == "0s" {
		y := 1900 + 10*int(short[0]-'0')
		return 2, day(y, 1, 1), day(y+10, 1, 1)
	}
	s, ok := strings.CutSuffix(wordAt(t, 0), "s")
	if y, good := year(s); ok && good && y%10 == 0 {
		return 1, day(y, 1, 1), day(y+10, 1, 1)
	}
	return 0, time.Time{}, time.Time{}
}

func yearAlone(t []Token, _ time.Time) (int, time.Time, time.Time) {
	if y, ok := year(wordAt(t, 0)); ok {
		return 1, day(y, 1, 1), day(y+1, 1, 1)
	}
	return 0, time.Time{}, time.Time{}
}

// relativePeriod parses today, last month, past 30 days, this year and similar periods.
func relativePeriod(t []Token, today time.Time) (int, time.Time, time.Time) {
	switch wordAt(t, 0) {
	case "today":
		return 1, today, today.AddDate(0, 0, 1)
	case "yesterday":
		return 1, today.AddDate(0, 0, -1), today
	case "tomorrow":
		return 1, today.AddDate(0, 0, 1), today.AddDate(0, 0, 2)
	case "ytd":
		return 1, day(today.Year(), 1, 1), today.AddDate(0, 0, 1)
	case "year":
		if wordAt(t, 1) == "to" && wordAt(t, 2) == "date" {
			return 3, day(today.Year(), 1, 1), today.AddDate(0, 0, 1)
		}
	case "this", "current":
		if unit := unitOf(wordAt(t, 1)); unit != "" {
			from, to := calendarPeriod(today, unit, 0)
			return 2, from, to
		}
	case "next", "coming":
		return futurePeriod(t, today)
	case "last", "past", "previous", "prior":
		return pastPeriod(t, today)
	}
	return 0, time.Time{}, time.Time{}
}

// pastPeriod parses last month, the calendar month before, and last 30 days, which include
// today.
func pastPeriod(t []Token, today time.Time) (int, time.Time, time.Time) {
	if unit := unitOf(wordAt(t, 1)); unit != "" && unit != "day" {
		from, to := calendarPeriod(today, unit, -1)
		return 2, from, to
	}
	count, n := countOf(t)
	if unit := unitOf(wordAt(t, n)); unit != "" && count > 0 {
		tomorrow := today.AddDate(0, 0, 1)
		return n + 1, shift(tomorrow, unit, -count), tomorrow
	}
	return 0, time.Time{}, time.Time{}
}

func futurePeriod(t []Token, today time.Time) (int, time.Time, time.Time) {
	if unit := unitOf(wordAt(t, 1)); unit != "" && unit != "day" {
		from, to := calendarPeriod(today, unit, 1)
		return 2, from, to
	}
	count, n := countOf(t)
	if unit := unitOf(wordAt(t, n)); unit != "" && count > 0 {
		return n + 1, today, shift(today, unit, count)
	}
	return 0, time.Time{}, time.Time{}
}

// countOf parses the number after the first token and returns its end.
func countOf(t []Token) (count, end int) {
	if n, ok := numberWords[wordAt(t, 1)]; ok {
		return n, 2
	}
	if n, err := strconv.Atoi(wordAt(t, 1)); err == nil && n <= 10_000 {
		return n, 2
	}
	return 0, 1
}

func unitOf(s string) string {
	switch s = strings.TrimSuffix(s, "s"); s {
	case "day", "week", "month", "quarter", "year":
		return s
	}
	return ""
}

// calendarPeriod returns the calendar week, month, quarter or year of a day, shifted by a
// number of units.
func calendarPeriod(d time.Time, unit string, by int) (from, to time.Time) {
	switch unit {
	case "week":
		from = d.AddDate(0, 0, -(int(d.Weekday())+6)%7)
	case "month":
		from = day(d.Year(), int(d.Month()), 1)
	case "quarter":
		from = day(d.Year(), (int(d.Month())-1)/3*3+1, 1)
	case "year":
		from = day(d.Year(), 1, 1)
	default:
		from = d
	}
	from = shift(from, unit, by)
	return from, shift(from, unit, 1)
}

func shift(d time.Time, unit string, by int) time.Time {
	switch unit {
	case "week":
		return d.AddDate(0, 0, 7*by)
	case "month":
		return addMonths(d, by)
	case "quarter":
		return addMonths(d, 3*by)
	case "year":
		return addMonths(d, 12*by)
	}
	return d.AddDate(0, 0, by)
}

// addMonths returns the same day of another month, or the last day of a shorter month, as
// DuckDB does.
func addMonths(d time.Time, by int) time.Time {
	first := day(d.Year(), int(d.Month())+by, 1)
	return first.AddDate(0, 0, min(d.Day(), first.AddDate(0, 1, -1).Day())-1)
}

// datePart parses a month, weekday or quarter without a year, and returns its end.
func datePart(t []Token, i int) (v ir.Value, end int) {
	w := t[i].Lower
	if m, ok := months[w]; ok && (len(w) > 3 || t[i].Text != w) && (w != "may" && w != "march" || t[i].Text != w) {
		return ir.Value{Kind: ir.MonthValue, Text: strconv.Itoa(m), Exact: true}, i + 1
	}
	if d, ok := weekdays[strings.TrimSuffix(w, "s")]; ok && len(w) > 3 {
		return ir.Value{Kind: ir.WeekdayValue, Text: strconv.Itoa(d), Exact: true}, i + 1
	}
	if q, n := quarterAt(t[i:]); n > 0 {
		return ir.Value{Kind: ir.QuarterValue, Text: strconv.Itoa(q), Exact: true}, i + n
	}
	return ir.Value{}, 0
}

// quarterAt parses Q4, fourth quarter and quarter 4 at the start of tokens, and returns the
// number of tokens.
func quarterAt(t []Token) (q, n int) {
	first, second := wordAt(t, 0), wordAt(t, 1)
	if q, ok := quarterName(first); ok {
		return q, 1
	}
	if q := ordinals[first]; q > 0 && second == "quarter" && first != "last" {
		return q, 2
	}
	if q, ok := quarterName("q" + second); ok && first == "quarter" {
		return q, 2
	}
	return 0, 0
}

// PeriodOf parses tokens that are one period, and returns its bounds.
func PeriodOf(tokens []Token, now time.Time) (from, to string, ok bool) {
	for _, s := range periods(tokens, now) {
		if s.start == 0 && s.end == len(tokens) {
			return s.value.From, s.value.To, true
		}
	}
	return "", "", false
}

// openEnds are words before a period that make it the start or the end of another one.
var openEnds = map[string]bool{"since": true, "after": true, "before": true, "from": true, "until": true, "till": true, "to": true}

// WithYear returns a question that goes on from others, whose months and quarters without a year are of
// the year that the last of the others is about.
func WithYear(question string, before []string, now time.Time) string {
	year := ""
	for i := len(before) - 1; i >= 0 && year == ""; i-- {
		tokens := Tokenize(before[i])
		named := periods(tokens, now)
		if len(named) == 0 {
			continue
		}
		from, to := named[0].value.From, named[0].value.To
		last, err := time.Parse(isoDay, to)
		if err != nil || len(named) > 1 || named[0].start > 0 && openEnds[tokens[named[0].start-1].Lower] || last.AddDate(0, 0, -1).Format("2006") != from[:4] {
			return question
		}
		year = from[:4]
	}
	tokens := Tokenize(question)
	if year == "" || len(periods(tokens, now)) > 0 {
		return question
	}
	for i := len(tokens) - 1; i >= 0; i-- {
		if v, end := datePart(tokens, i); end > 0 && v.Kind != ir.WeekdayValue {
			if _, ok := dayOf(wordAt(tokens, end)); ok {
				end++ // March 5
			}
			at := tokens[end-1].End
			question = question[:at] + " " + year + question[at:]
		}
	}
	return question
}
