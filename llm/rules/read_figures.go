package rules

// readFigures reads "how many …", "the average …", "the total …".
func (r *reader) readFigures() {
	for i := 0; i < len(r.tokens); i++ {
		if r.used[i] {
			continue
		}
		if end := phrase(r.tokens, i, "how many"); end > 0 {
			r.readCount(i, end)
			continue
		}
		if end := phrase(r.tokens, i, "total? number|count|numbers|amount of"); end > 0 && (r.at[i] == nil || r.at[i].to == i+1) {
			r.readCount(i, end)
			continue
		}
		if aggregates[r.lower(i)] != "" && (r.at[i] == nil || r.at[i].from == i && r.at[i].to == i+1) {
			r.readAggregates(i)
		}
	}
}

// readCount reads what is counted.
func (r *reader) readCount(i, end int) {
	distinct := false
	for wordIs(r.lower(end), "different", "distinct", "unique", "the", "all", "total", "of", "kinds", "kind", "types", "type", "other") && r.at[end] == nil {
		distinct = distinct || wordIs(r.lower(end), "different", "distinct", "unique", "kinds", "types", "kind", "type")
		end++
	}
	r.take(i, end)
	k := r.linkFrom(end, nil)
	if k == nil {
		r.q.items = append(r.q.items, item{agg: "count", at: i})
		r.counts = true
		return
	}
	t := r.isTable(k)
	c := r.columnOf(k, nil)
	switch {
	case t != nil && !(distinct && c != nil && columnScore(k, c) > 0.95):
		r.takeLink(k)
		r.q.items = append(r.q.items, item{agg: "count", table: t, at: i})
		r.counts = true
		if r.q.main == nil {
			r.q.main = t
		}
		if distinct {
			// Different templates that documents use are counted among documents.
			for _, m := range r.spoken {
				if m.table == t || m.link.from < k.to {
					continue
				}
				if steps, ok := r.joins.path(m.table, t); ok && len(steps) == 1 && steps[0].edge.many.table == m.table {
					last := &r.q.items[len(r.q.items)-1]
					last.table, last.column, last.distinct = nil, steps[0].edge.many, true
					r.q.main = m.table
					r.takeLink(m.link)
					return
				}
			}
		}
	case c != nil && numericColumn(c) && !distinct && !isKeyName(c) && columnScore(k, c) > 0.6:
		// "how many points": the figure itself.
		r.takeLink(k)
		r.q.items = append(r.q.items, item{column: c, at: i})
	case c != nil:
		r.takeLink(k)
		r.q.items = append(r.q.items, item{agg: "count", column: c, distinct: distinct || len(r.tables) > 1, at: i})
		r.counts = true
	default:
		r.q.items = append(r.q.items, item{agg: "count", at: i})
		r.counts = true
	}
}

// readAggregates reads one or several figures of a column.
func (r *reader) readAggregates(i int) {
	var kinds []string
	j := i
	for ; j < len(r.tokens); j++ {
		if a := aggregates[r.lower(j)]; a != "" && !(r.at[j] != nil && r.at[j].to > j+1) {
			kinds = append(kinds, a)
			continue
		}
		if !wordIs(r.lower(j), ",", "and", "the", "of", "all", "amount", "value") {
			break
		}
	}
	k := r.linkFrom(j, articles)
	if k == nil {
		return
	}
	c := r.columnOf(k, numericColumn)
	if c == nil {
		return
	}
	r.take(i, j)
	r.takeLink(k)
	for _, a := range kinds {
		r.q.items = append(r.q.items, item{agg: a, column: c, at: i})
		r.note("the " + item{agg: a, column: c}.label())
	}
}
