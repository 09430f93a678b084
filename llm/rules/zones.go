package rules

import "slices"

// zones says which tokens are in the part of the question that names what to
// show: asked for sure, and shown more loosely, after an "and" that may go on
// with it.
type zones struct {
	asked []bool
	shown []bool
}

var (
	askWords   = set("what list show give find return tell display how name select get provide")
	clauseEnds = set(`with whose who that having where when than by of for from in at on to without except excluding among during
		sorted ordered order sort using has have had does do did is are was were which while over under above below before after not`)
	goesOn = set("the a an its their his her also all")
)

func (r *reader) findZones() {
	n := len(r.tokens)
	z := zones{asked: make([]bool, n), shown: make([]bool, n)}
	asked, shown, seen := true, true, false
	for i := range r.tokens {
		w := r.lower(i)
		k := r.linkAt(i)
		switch {
		case k != nil:
			seen = true
		case w == "which" && (i == 0 || r.linkAt(i-1) == nil), w == "who" && i == 0, askWords[w] && !(w == "name" && i > 0),
			(w == "?" || w == ".") && i+1 < n:
			asked, shown, seen = true, true, false
		case phrase(r.tokens, i, "as well as") > 0, phrase(r.tokens, i, "along|together with") > 0:
			asked, shown = true, true
		case w == "with" && wordIs(r.lower(i-1), "along", "together"), w == "as":
		case clauseEnds[w] && seen:
			asked, shown = false, false
		case seen && !stopWords[w] && !r.tokens[i].mark && !quantityWord(w) && !r.tokens[i].isNumber:
			asked, shown = false, false
		case w == "and" || w == ",":
			j := i + 1
			for goesOn[r.lower(j)] && r.linkAt(j) == nil {
				if wordIs(r.lower(j), "its", "their") {
					asked, shown = true, true
				}
				j++
			}
			if j < n && r.linkAt(j) != nil && r.linkAt(j).from == j && len(r.linkAt(j).columns) > 0 {
				shown = true
			}
		}
		z.asked[i], z.shown[i] = asked, shown
		if k != nil && i == k.to-1 && slices.ContainsFunc(r.tokens[k.from:k.to], func(t token) bool { return t.lower == "of" || t.lower == "for" }) {
			asked, shown = false, false // "the titles of books": what follows is about the books
		}
	}
	r.zones = z
}

// quantityWord reports whether a word belongs to what is shown, though it names
// nothing itself.
func quantityWord(w string) bool {
	_, greatest := superlatives[w]
	return greatest || aggregates[w] != "" || wordIs(w, "distinct", "different", "unique", "corresponding", "respective", "full")
}

// listedAfter reports whether a link goes on a list that another started.
func (r *reader) listedAfter(a, b *link) bool {
	if a == nil || b.from <= a.to {
		return false
	}
	joined := false
	for j := a.to; j < b.from; j++ {
		w := r.lower(j)
		switch {
		case w == "and" || w == ",":
			joined = true
		case !goesOn[w]:
			return false
		}
	}
	return joined
}

// sameSentence reports whether no sentence ends between two tokens.
func (r *reader) sameSentence(a, b int) bool {
	if a > b {
		a, b = b, a
	}
	return !slices.ContainsFunc(r.tokens[a:b], func(t token) bool { return t.mark && (t.lower == "?" || t.lower == "." || t.lower == ";") })
}
