package rules

// query is what is asked for, before it is SQL.
type query struct {
	// main is the table whose rows are spoken of.
	main  *table
	items []item
	conds []cond
	// groups are what figures are given for; groupTable is its table when the
	// rows of one are.
	groups     []*column
	groupTable *table
	// within are what the first rows by the order are given of each.
	within   []*column
	having   []having
	orders   []order
	limit    int
	offset   int
	distinct bool
	// absent are tables of which no row may belong to the row.
	absent []absence
	// both says that conditions on one column hold for different rows.
	both bool
	// position asks for rows by where they stand.
	position *position
	star     bool
	// negations are the tokens whose negation was understood.
	negations map[int]bool
}

// item is a column of the result.
type item struct {
	agg      string // "", count, avg, sum, min, max, median, share, change, each
	distinct bool
	column   *column // nil for count(*)
	table    *table  // what is counted
	at       int     // token
	link     *link
	// sums says that the figures of several rows are meant together.
	sums bool
	// of is what the part meets that a share is of.
	of []cond
	// figure is what a change is of, and by the span of time from one to the next.
	figure *item
	by     *column
}

// cond is a condition on rows. Those with the same or are alternatives.
type cond struct {
	column *column
	op     string // =, <>, <, <=, >, >=, between, in, like, year, sql
	texts  []string
	low    float64
	high   float64
	// sub compares with a figure of the column: avg, min or max, over all rows
	// that meet subConds.
	sub      string
	subConds []cond
	negated  bool
	or       int
	at       int
	end      int
	sql      func(ref string) string
	link     *link
	// exact says that the values were named in full.
	exact bool
	// each says that several values were named with "and".
	each bool
	// orNull says that rows without a value meet it too.
	orNull bool
}

type having struct {
	op    string
	n     float64
	high  float64
	table *table
	agg   string
	col   *column
}

type order struct {
	item item
	desc bool
	// shown says that the figure itself is asked for.
	shown bool
	link  *link
}

type absence struct {
	table *table
	at    int
	conds []cond
	// present turns it round: some row must belong to the row.
	present bool
}

// position asks for rows beside, or at the ends of, those that meet the
// conditions.
type position struct {
	// offset is 1 for the next row and -1 for the one before.
	offset int
	// end is "first" or "last" of those that meet the conditions.
	end string
	n   int
	// anchor is the row that offset counts from.
	anchor cond
	// by is the column that first and last go by; nil for the rows as they stand.
	by *column
}
