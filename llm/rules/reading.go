package rules

import (
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
	notes  []string
	// doubts lower the confidence, each by its share.
	doubts []float64
	orSeq  int
	// few is how many the superlative to come is to give.
	few int
	// sums says that figures are asked for by something that has several.
	sums bool
	// flip turns the next comparison round.
	flip bool
	// inner is where a comparison with a figure stands, from 1: what comes after it
	// is about the figure.
	inner int
	zones zones
	// raw is the query, where no parts of one say it.
	raw string
	// event is the table of what happened, where the question is about that.
	event *table
	// when is the date that a verb of the question tells: "who joined in 2020".
	when *column
	// mayBeNone says that it is an answer when there is nothing.
	mayBeNone bool
	// part is where, from 1, the part is spoken of that a share is asked of.
	part int
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
	r.readNew()
	r.readPeriods()
	r.readGroups()
	r.readEmpty()
	r.readShares()
	r.readChanges()
	r.readDone()
	r.readLatest()
	if !r.chosen {
		r.readTrade()
	}
	if !r.chosen {
		r.readAbsence()
	}
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

// taken reports whether a token is understood.
func (r *reader) taken(i int) bool { return i >= 0 && i < len(r.used) && r.used[i] }

// linkAt is the link that a token is part of; nil when there is none.
func (r *reader) linkAt(i int) *link {
	if i < 0 || i >= len(r.at) {
		return nil
	}
	return r.at[i]
}

func (r *reader) takeLink(k *link) { r.take(k.from, k.to) }

func (r *reader) free(k *link) bool { return k != nil && !r.taken(k.from) }

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
		if k := r.linkAt(i); k != nil && k.from == i {
			if r.taken(i) {
				return nil
			}
			return k
		}
		if r.linkAt(i) != nil || !skip[r.tokens[i].lower] {
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
		if k := r.linkAt(i); k != nil {
			if r.taken(i) {
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
	articles = set("the a an of all any different distinct their its his her total number amount")
	copulas  = set("is are was were be been the a an of has have had as named called titled equals equal to : being with at in its their do does did not")
)

// negatedAt reports whether what stands at a token is negated.
func (r *reader) negatedAt(i int) bool {
	if k := r.linkAt(i); k != nil && phrase(r.tokens, k.to, "is|are|was|were not") > 0 {
		return true
	}
	for j := i - 1; j >= 0 && j >= i-5; j-- {
		w := r.lower(j)
		if k := r.linkAt(j); k != nil && k != r.linkAt(i) && len(k.values) > 0 && r.isValue(k) {
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

func join(words []string) string { return strings.Join(words, " ") }
