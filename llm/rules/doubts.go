package rules

import (
	"math"
	"slices"
	"strings"
)

// crucial are words that change what is asked for: left over, they are a reason
// for doubt.
var crucial = set(`than not no never without except both same most least more fewer less highest lowest largest smallest greatest biggest first last
	next previous before after between average total difference each every per top oldest youngest longest shortest earliest latest other besides only
	consecutive respectively neither nor either ratio percent percentage combined fewest maximum minimum`)

// weigh lowers the confidence for what makes readings go wrong: words left over,
// names that fit badly or fit several columns, values that are not clean, and
// the parts of a query that pile up.
func (r *reader) weigh() {
	r.weighLeftovers()
	r.weighNames()
	r.weighValues()
	r.weighQuery()
}

func (r *reader) weighLeftovers() {
	n := 0
	// "what is the weather": what is asked for is not there.
	for i := range r.tokens {
		end := phrase(r.tokens, i, "what|what's is|are|was|were? the|a|an?")
		if end > 0 && end < len(r.tokens) && !r.taken(end) && r.linkAt(end) == nil && !stopWords[r.lower(end)] && !quantityWord(r.lower(end)) && !quietWords[r.lower(end)] {
			r.doubt(0.35)
		}
	}
	for i := range r.tokens {
		// A span of time that is told from today is not known.
		if !r.solo() && !r.taken(i) && (phrase(r.tokens, i, "last|this|next|past|previous|current year|month|week|quarter") > 0 || phrase(r.tokens, i, "today|yesterday|tomorrow") > 0) {
			r.doubt(0.5)
		}
	}
	for i, t := range r.tokens {
		if r.taken(i) || !crucial[t.lower] {
			continue
		}
		if wordIs(t.lower, "total", "only", "either", "each", "every", "other") {
			r.doubt(0.05)
			continue
		}
		if !r.solo() && (wordIs(t.lower, "same", "before", "after", "between") || wordIs(r.lower(0), "did", "do", "does") && wordIs(t.lower, "more", "less", "fewer")) {
			r.doubt(0.3)
		}
		if n++; n <= 2 {
			r.doubt(0.2)
		}
	}
}

// weighNames doubts columns whose name fits badly, or another fits as well.
func (r *reader) weighNames() {
	for _, i := range r.q.items {
		if i.link == nil || i.column == nil {
			continue
		}
		switch score := columnScore(i.link, i.column); {
		case score < 0.6:
			r.doubt(0.12)
		case score < 0.8:
			r.doubt(0.06)
		}
		if r.contested(i.link, i.column) {
			r.doubt(0.06)
		}
	}
}

// contested reports whether another column fits a link as well, and is not the
// same thing.
func (r *reader) contested(k *link, c *column) bool {
	score := columnScore(k, c)
	return slices.ContainsFunc(k.columns, func(m columnMatch) bool {
		if m.column == c || m.score < score-0.02 || sameColumn(r.joins, m.column, c) {
			return false
		}
		// Where the table is named there is no question.
		return !slices.ContainsFunc(r.spoken, func(s mention) bool { return s.table == c.table })
	})
}

// weighValues doubts values that fit several columns, and ones with blanks around
// them.
func (r *reader) weighValues() {
	for _, c := range r.q.conds {
		if c.op != "in" {
			continue
		}
		if slices.ContainsFunc(c.texts, func(t string) bool { return t != strings.TrimSpace(t) }) {
			r.doubt(0.15)
		}
		if c.link == nil {
			continue
		}
		others := 0
		for _, m := range c.link.values {
			if m.column != c.column && m.exact == c.exact && !sameColumn(r.joins, m.column, c.column) {
				others++
			}
		}
		if others > 0 {
			r.doubt(0.08)
		}
	}
}

// weighQuery doubts queries of many parts, and figures read from texts of which
// some are none.
func (r *reader) weighQuery() {
	q := r.q
	if steps, ok := r.joins.connect(q.tablesOf()); ok {
		for n, s := range steps {
			if n > 0 {
				r.doubt(0.04)
			}
			if s.edge.score < 0.7 {
				r.doubt(0.05)
			}
		}
	}
	for _, c := range q.conds {
		// "in 2024 but not in 2025" is about different rows of the same thing.
		if c.op == "<>" && r.related(c.column) && slices.ContainsFunc(q.conds, func(o cond) bool { return o.column == c.column && o.op == "=" }) {
			r.doubt(0.5)
		}
	}
	if !r.solo() && len(q.items) == 1 && q.items[0].agg == "count" && q.items[0].column == nil && len(q.groups) == 0 && len(q.tablesOf()) == 1 &&
		slices.ContainsFunc(q.conds, func(c cond) bool { return c.op == "in" && c.column.unique && len(c.texts) == 1 && !c.negated }) {
		r.doubt(0.5) // there is one of each
	}
	parts := len(q.having) + len(q.absent)
	if q.both {
		parts++
	}
	for _, c := range q.conds {
		if c.sub != "" || c.op == "sql" && !r.solo() {
			parts++
		}
		if c.column.mixed && (c.op != "in" && c.op != "like") {
			r.doubt(r.mixedDoubt())
		}
	}
	for range max(0, parts-1) {
		r.doubt(0.08)
	}
	for _, o := range q.orders {
		if o.item.column != nil && o.item.column.mixed {
			r.doubt(r.mixedDoubt())
		}
	}
	for _, i := range q.items {
		if i.agg != "" && i.agg != "count" && i.column != nil && i.column.mixed {
			r.doubt(r.mixedDoubt())
		}
	}
	if r.solo() && q.ordersByFigure() && slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && i.column.unique }) {
		r.doubt(0.6) // every one of them occurs once
	}
	if q.limit > 0 && len(q.orders) > 0 && !r.solo() {
		r.doubt(0.05)
	}
}

// mixedDoubt is for a column of figures that holds other texts too. In a lone
// table from the web most do.
func (r *reader) mixedDoubt() float64 {
	if r.solo() {
		return 0.05
	}
	return 0.3
}

func (r *reader) doubt(share float64) { r.doubts = append(r.doubts, share) }

// left are the relevant words that were not understood: a query that ignores them
// answers another question.
func (r *reader) left() []string {
	var words []string
	thing := ""
	for i, t := range r.tokens {
		if r.taken(i) || t.mark || !r.isRelevant(i) || r.raw != "" && r.linkAt(i) != nil {
			continue
		}
		// Where the table has no meaningful name, one noun of the question names its rows.
		if r.nameless() && !restrictingWords[t.lower] && !t.capital && !t.isNumber && !spanWords[t.lemma] && !wordIs(r.lower(i-1), "by", "per", "each") && (thing == "" || thing == t.lemma) {
			thing = t.lemma
			continue
		}
		words = append(words, t.text)
	}
	return words
}

// isRelevant reports whether a word affects what is asked for.
func (r *reader) isRelevant(i int) bool {
	t := r.tokens[i]
	switch {
	case restrictingWords[t.lower]:
		return r.raw == ""
	case stateWords[t.lower] && wordIs(r.lower(i-1), "is", "are", "was", "were", "been", "not"):
		return true // "were paid"
	case fillerWords[t.lower], strings.HasSuffix(t.lower, "ed") && r.lower(i+1) == "by", i == 0 && wordIs(r.lower(1), "the", "all", "me"),
		t.lemma == "member" && r.taken(i-1):
		return false // "report the names", "faculty members"
	}
	return !stopWords[t.lower] && !stopWords[t.lemma] && !quietWords[t.lower]
}

// nameless reports whether the name of the only table does not say what its rows
// are.
func (r *reader) nameless() bool {
	return r.solo() && (len(r.tables[0].name) <= 2 || wordIs(strings.ToLower(r.tables[0].name), "data", "table", "sheet", "sheet1", "rows"))
}

var (
	// restrictingWords change what is asked for, at any position.
	restrictingWords = set("not no never without except neither nor than next previous last")
	spanWords        = set("day week month quarter year today yesterday tomorrow")
	// fillerWords do not change what is asked for.
	fillerWords = set("total only either each every other across compute calculate called titled shared born most least both same involved money word")
	// stateWords are quiet words that name a state after a form of "to be".
	stateWords = set("paid sent lost kept")
)

// quietWords are verbs and the like that tables rarely have a word for.
var quietWords = set(`want know like need see let say said kind sort available
	happened happen occurred occur took take taken place places placed held hold spoken speak speaks live lives living work works working
	play plays played produce produces produced built build builds write written receive received receives get got gets
	contain contains containing include includes including ever yet still currently first
	currently per listed present ascending descending order sorted sort
	fly flies sail sails carry carries own owns earn earns earned sell sells buy buys visit visits attend attends teach teaches study studies join joins
	perform performs travel travels drive drives ride rides serve serves run runs lead leads sing sings offer offers hire hires land lands depart departs
	arrive arrives through wrote won gave held ran led lost sold bought spent met paid began drove flew grew kept left sent sat stood taught wore`)

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
		if !r.taken(i) {
			lost += w
		}
	}
	sure := 1.0
	if all > 0 {
		sure = 1 - lost/all
	}
	if len(r.q.conds) == 0 && len(r.q.orders) == 0 && !slices.ContainsFunc(r.q.items, func(i item) bool { return len(i.of) > 0 }) && !slices.ContainsFunc(r.links, func(k *link) bool { return r.taken(k.from) }) {
		sure *= 0.4 // nothing in the data was spoken of
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
		return math.Pow(sure, 0.75)
	}
	return math.Pow(sure, 2.5)
}
