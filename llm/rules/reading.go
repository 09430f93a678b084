package rules

import (
	"math"
	"slices"
	"strings"
)

// reader makes a query of a question.
type reader struct {
	tokens []token
	links  []*link
	// at is the link that a token is part of.
	at     []*link
	used   []bool
	tables []*table
	joins  *joinGraph
	q      *query
	// spoken are the tables that are named, with where.
	spoken []mention
	// counts says that a number of things is asked for.
	counts bool
	notes  []string
	// doubts lower the confidence, each by its share.
	doubts []float64
	orSeq  int
	// few is how many the superlative to come is to give.
	few int
	// flip turns the next comparison round.
	flip bool
	// inner is where a comparison with a figure stands, from 1: what comes after it
	// is about the figure.
	inner int
	zones zones
	// raw is the query, where no parts of one say it.
	raw string
	// chosen says that all there is to say was read.
	chosen bool
}

type mention struct {
	table *table
	link  *link
}

func newReader(tokens []token, tables []*table, joins *joinGraph, links []*link) *reader {
	r := &reader{tokens: tokens, tables: tables, joins: joins, q: &query{}, used: make([]bool, len(tokens)), at: make([]*link, len(tokens))}
	r.links = links
	for _, k := range r.links {
		for i := k.from; i < k.to; i++ {
			r.at[i] = k
		}
	}
	return r
}

// read reads the question. Each pass takes the words that it understands; what is
// left over is what was not understood.
func (r *reader) read() {
	r.findTables()
	r.findZones()
	r.readSorting()
	r.readGroups()
	r.readAbsence()
	if r.solo() {
		r.readPairs()
	}
	if r.raw == "" && !r.chosen {
		if r.solo() {
			r.readNeighbours()
		}
		r.readDates()
		r.readConditions()
	} else {
		r.readDates()
		r.readValues()
		r.readNumbers()
	}
	r.settle()
}

// solo reports whether there is one table only, whose rows are spoken of by many
// names.
func (r *reader) solo() bool { return len(r.tables) == 1 }

func (r *reader) readConditions() {
	r.readThan()
	r.readSame()
	r.readComparisons()
	r.readFlags()
	r.readFigureLists()
	if r.solo() {
		r.readEnds()
	}
	r.readSuperlatives()
	r.readFigures()
	r.readContains()
	r.readValues()
	r.readNumbers()
	r.readSelection()
}

// take marks tokens as understood.
func (r *reader) take(from, to int) {
	for i := from; i < to && i < len(r.used); i++ {
		r.used[i] = true
	}
}

func (r *reader) takeLink(k *link) { r.take(k.from, k.to) }

func (r *reader) free(k *link) bool { return k != nil && !r.used[k.from] }

func (r *reader) lower(i int) string {
	if i < 0 || i >= len(r.tokens) {
		return ""
	}
	return r.tokens[i].lower
}

// linkFrom is the free link that starts at a token, or after words that say
// nothing there.
func (r *reader) linkFrom(i int, skip map[string]bool) *link {
	for i < len(r.tokens) {
		if k := r.at[i]; k != nil && k.from == i {
			if r.used[i] {
				return nil
			}
			return k
		}
		if r.at[i] != nil || !skip[r.tokens[i].lower] {
			return nil
		}
		i++
	}
	return nil
}

// linkBefore is the free link that ends before a token, or before words that say
// nothing there.
func (r *reader) linkBefore(i int, skip map[string]bool) *link {
	for i--; i >= 0; i-- {
		if k := r.at[i]; k != nil {
			if r.used[i] {
				return nil
			}
			return k
		}
		if !skip[r.tokens[i].lower] {
			return nil
		}
	}
	return nil
}

var (
	articles   = set("the a an of all any different distinct their its his her total number amount")
	copulas    = set("is are was were be been the a an of has have had as named called titled equals equal to : being with at in its their do does did not")
	betweenTwo = set("the a an of all any some number amount other different distinct car total")
)

// findTables sees which tables are named.
func (r *reader) findTables() {
	for _, k := range r.links {
		if t := r.tableOf(k); t != nil {
			r.spoken = append(r.spoken, mention{t, k})
			continue
		}
		// "of all makers": rows of a table, though a column fits the word better.
		before := k.from - 1
		for wordIs(r.lower(before), "the", "all", "any", "some") {
			before--
		}
		if wordIs(r.lower(before), "of", "for", "by", "each", "every") && len(k.values) == 0 {
			if t := r.tableFor(k); t != nil {
				r.spoken = append(r.spoken, mention{t, k})
			}
		}
	}
}

// tableOf is the table that a link names; nil when it names none.
func (r *reader) tableOf(k *link) *table {
	var best *table
	bestScore := 0.0
	for _, m := range k.tables {
		score := m.score
		if len(r.tables) == 1 {
			score *= 0.9
		}
		for _, other := range r.links {
			if other == k {
				continue
			}
			for _, c := range other.columns {
				if c.column.table == m.table && c.score >= 0.85 {
					score += 0.06
					break
				}
			}
		}
		if score > bestScore {
			best, bestScore = m.table, score
		}
	}
	if best == nil || l(k) == 1 && quietWords[r.lower(k.from)] && bestScore < 0.95 {
		return nil
	}
	// A column that fits better is meant, unless tables are what is counted.
	own := 0.0
	for _, m := range k.tables {
		own = max(own, m.score)
	}
	for _, c := range k.columns {
		if c.score > own+0.08 {
			return nil
		}
	}
	return best
}

// isTable reports whether a link was found to name a table.
func (r *reader) isTable(k *link) *table {
	for _, m := range r.spoken {
		if m.link == k {
			return m.table
		}
	}
	return nil
}

// nearestTable is the table named next after a link, else the one before it.
func (r *reader) nearestTable(k *link) (after, before *table) {
	for _, m := range r.spoken {
		if m.link.from >= k.to && after == nil {
			after = m.table
			// A column that names its table speaks of it too.
			for _, o := range r.links {
				if o.from >= k.to && o.from < m.link.from && r.isTable(o) == nil && after == m.table {
					if t := ownTable(o); t != nil {
						after = t
					}
				}
			}
		}
		if m.link.to <= k.from {
			before = m.table
		}
	}
	return after, before
}

// ownTable is the table that a link to a column names with it; nil when it names
// none.
func ownTable(k *link) *table {
	if l(k) < 2 {
		return nil
	}
	for _, m := range k.columns {
		if m.score >= 0.95 && len(m.column.short) > 0 && len(m.column.short) < len(m.column.words) {
			return m.column.table
		}
	}
	return nil
}

// columnOf picks the column that a link names, by the tables around it; nil when
// it names none. Fits, unless nil, says which will do.
func (r *reader) columnOf(k *link, fits func(*column) bool) *column {
	if k == nil {
		return nil
	}
	after, before := r.nearestTable(k)
	var adjacent *table
	if p := r.linkBefore(k.from, nil); p != nil {
		adjacent = r.isTable(p)
	} else if k.from > 0 && r.at[k.from-1] != nil {
		adjacent = r.isTable(r.at[k.from-1])
	}
	var best *column
	bestScore := 0.0
	for _, m := range k.columns {
		if fits != nil && !fits(m.column) {
			continue
		}
		score := m.score
		t := m.column.table
		if t == adjacent {
			score += 0.3
		}
		if t == after {
			score += 0.2
		}
		if t == before {
			score += 0.12
			if wordIs(r.lower(k.from-1), "its", "their", "his", "her") {
				score += 0.3
			}
		}
		if m.column.unique && overlap(m.column.words, t.words) && l(k) > 1 {
			score += 0.35 // the key of the table that it names
		}
		if t == r.q.groupTable {
			score += 0.3
		}
		if t == r.listTable(k) {
			score += 0.25
		}
		if len(r.spoken) > 0 && r.spoken[0].table == t && after == nil && !r.sameSentence(r.spoken[0].link.from, k.from) {
			score += 0.25
		}
		for _, other := range r.spoken {
			if other.table == t {
				score += 0.08
				break
			}
		}
		for _, other := range r.links {
			if other != k && len(other.columns) > 0 && slices.ContainsFunc(other.columns, func(o columnMatch) bool { return o.column.table == t && o.score > 0.9 }) {
				score += 0.01
			}
		}
		if isKeyName(m.column) && len(m.column.words) == 1 && t == r.q.main {
			score += 0.05
		}
		if score > bestScore {
			best, bestScore = m.column, score
		}
	}
	return best
}

func l(k *link) int { return k.to - k.from }

// listTable is the table of the item that a link follows in a list.
func (r *reader) listTable(k *link) *table {
	for _, i := range r.q.items {
		if i.column != nil && i.link != nil && r.listedAfter(i.link, k) {
			return i.column.table
		}
	}
	return nil
}

// tableFor is the table that a link may name, though a column fits better; nil
// when none does.
func (r *reader) tableFor(k *link) *table {
	if t := r.isTable(k); t != nil {
		return t
	}
	var best *table
	score := 0.59
	for _, m := range k.tables {
		if m.score > score {
			best, score = m.table, m.score
		}
	}
	return best
}

func numericColumn(c *column) bool { return c.kind == kindNumber || c.kind == kindTime }

func measurable(c *column) bool { return numericColumn(c) || c.kind == kindDate }

// hinted finds a column that a hint speaks of, in the tables that are named
// first.
func (r *reader) hinted(hint string, fits func(*column) bool) *column {
	for _, pass := range []bool{true, false} {
		for _, w := range hintColumns[hint] {
			for _, t := range r.tables {
				if r.named(t) != pass || !pass && !r.beside(t) {
					continue
				}
				for _, c := range t.columns {
					if (fits == nil || fits(c)) && (slices.Contains(c.words, w) || slices.Contains(c.hints, w) && pass) {
						return c
					}
				}
			}
		}
	}
	return nil
}

// named reports whether the question names a table.
func (r *reader) named(t *table) bool {
	return slices.ContainsFunc(r.spoken, func(m mention) bool { return m.table == t })
}

// beside reports whether a table is one join away from one that is named; where
// none is, any will do.
func (r *reader) beside(t *table) bool {
	if len(r.spoken) == 0 {
		return true
	}
	return slices.ContainsFunc(r.spoken, func(m mention) bool {
		steps, ok := r.joins.path(m.table, t)
		return ok && len(steps) <= 1
	})
}

// negatedAt reports whether what stands at a token is negated.
func (r *reader) negatedAt(i int) bool {
	if k := r.at[i]; k != nil && phrase(r.tokens, k.to, "is|are|was|were not") > 0 {
		return true
	}
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		w := r.lower(j)
		if k := r.at[j]; k != nil && k != r.at[i] && len(k.values) > 0 && r.isValue(k) {
			return false
		}
		switch w {
		case "not", "never", "without", "except", "excluding", "neither", "nor", "didn", "don", "doesn", "isn", "wasn", "aren", "weren":
			if !r.q.negations[j] {
				r.take(j, j+1)
				return true
			}
			return false
		case ",", ".", "?", ";", "and", "or", "but", "that", "who", "which":
			return false
		case "than":
			if r.lower(j-1) == "other" {
				r.take(j-1, j+1)
				return true
			}
		case "besides", "aside", "apart":
			r.take(j, j+1)
			return true
		case "to":
			if r.lower(j-1) == "addition" {
				return true
			}
		case "no":
			if r.solo() && j == i-1 {
				return true
			}
		}
	}
	return false
}

func (r *reader) note(text string) {
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

func (r *reader) doubt(share float64) { r.doubts = append(r.doubts, share) }

// left are the words that say something and were not understood.
func (r *reader) left() []string {
	var words []string
	for i, t := range r.tokens {
		if r.used[i] || t.mark || stopWords[t.lower] || stopWords[t.lemma] || quietWords[t.lower] {
			continue
		}
		words = append(words, t.text)
	}
	return words
}

// quietWords are verbs and the like that tables rarely have a word for.
var quietWords = set(`want know like need see let say said kind sort available
	happened happen occurred occur took take taken place held hold spoken speak speaks live lives living work works working
	play plays played produce produces produced built build builds write written receive received receives get got gets
	contain contains containing include includes including ever yet still currently first
	currently per listed present ascending descending order sorted sort
	wrote won gave held ran led lost sold bought spent met paid began drove flew grew kept left sent sat stood taught wore`)

// confidence says how sure the reading is.
func (r *reader) confidence() float64 {
	all, lost := 0.0, 0.0
	for i, t := range r.tokens {
		if t.mark || stopWords[t.lower] || stopWords[t.lemma] {
			continue
		}
		w := 1.0
		if quietWords[t.lower] {
			w = 0.25
		} else if strings.HasSuffix(t.lower, "ed") || strings.HasSuffix(t.lower, "ing") {
			w = 0.5 // a verb, most likely
		}
		if t.isNumber || t.quote != 0 || t.capital && i > 0 {
			w = 2
		}
		all += w
		if !r.used[i] {
			lost += w
		}
	}
	sure := 1.0
	if all > 0 {
		sure = 1 - lost/all
	}
	for _, d := range r.doubts {
		sure *= 1 - d
	}
	return sure
}

// calibrate makes a confidence say about how often such readings are right.
// Where several tables can be joined, a small doubt more often is a wrong turn.
func (r *reader) calibrate(sure float64) float64 {
	if r.solo() {
		return math.Pow(sure, 0.85)
	}
	return sure * sure
}

func join(words []string) string { return strings.Join(words, " ") }
