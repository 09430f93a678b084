package rules

import "slices"

// personWords are what tables of people are called, and personColumns what only
// people have.
var (
	personWords = set(`person people customer client buyer member employee worker staff student pupil teacher patient doctor guest visitor user
		owner author artist player athlete driver rider passenger tenant subscriber reader borrower donor volunteer contact candidate applicant supplier`)
	personColumns = set("email birth born gender sex age")
)

// holdsPeople reports whether the rows of a table are people, or firms that act as
// such.
func (t *table) holdsPeople() bool {
	return slices.ContainsFunc(t.words, func(w string) bool { return personWords[w] }) ||
		slices.ContainsFunc(t.columns, func(c *column) bool {
			return slices.ContainsFunc(c.words, func(w string) bool { return personColumns[w] })
		})
}

// asksWho reports whether the question asks for a person.
func (r *reader) asksWho() bool { return r.lower(0) == "who" && !r.solo() }

// settleWho asks for the people that rows refer to where who is asked for and the
// rows are no people: "who paid the highest fine".
func (r *reader) settleWho() {
	q := r.q
	if !r.asksWho() || q.main == nil || len(q.items) > 0 || q.main.holdsPeople() {
		return
	}
	t := r.peopleOf(q.main)
	if t == nil && len(q.orders) == 0 {
		t = r.peopleIn(q.main)
	}
	if t != nil {
		q.main = t
		q.items = append(q.items, item{column: nameColumn(t)})
		r.note("who: " + t.name)
	}
}

// peopleIn is the one table of people whose rows refer to those of a table: "who
// works in Sales". It is nil when there is none, or several.
func (r *reader) peopleIn(t *table) *table {
	var found *table
	for _, e := range r.joins.edges {
		if e.one.table != t || !e.many.table.holdsPeople() || e.many.table == found {
			continue
		}
		if found != nil {
			return nil
		}
		found = e.many.table
	}
	return found
}

// peopleOf is the one table of people that the rows of a table refer to; nil when
// there is none, or several.
func (r *reader) peopleOf(t *table) *table {
	var found *table
	for _, e := range r.joins.edges {
		if e.many.table != t || !e.one.table.holdsPeople() || e.one.table == found {
			continue
		}
		if found != nil {
			return nil
		}
		found = e.one.table
	}
	return found
}
