package profile

import "parley/internal/domain"

// MayReferTo reports whether the profiles of two columns allow the values of the first to be,
// for the most part, among those of the second, of which each is there once in rows rows.
// Where it is not certain it is true: counts of many values are estimates.
func MayReferTo(c, to domain.ColumnProfile, rows int64) bool {
	// distinctError is by how much an estimate may be wrong.
	const distinctError = 1.5
	switch {
	case c.Distinct == 0 || to.Distinct == 0:
		return false
	case len(to.Top) > 0 && to.Top[0].Count > 1:
		return false // not unique
	case to.Sketch == nil:
		// Nothing is known of the number of values.
	case float64(to.Distinct)*distinctError < float64(rows-to.Missing):
		return false // not unique
	case float64(c.Distinct)*domain.MinContained > float64(to.Distinct)*distinctError:
		return false // too many values
	}
	return !apart(c, to) && mostTopIn(c, to) && mayBeIn(c.Sketch, to.Sketch)
}

// apart reports whether all values of one column are less than all of the other.
func apart(c, other domain.ColumnProfile) bool {
	kind := domain.KindOf(c.Type)
	less := func(a, b *string) bool {
		if a == nil || b == nil || *a == *b || len(*a) >= domain.MaxProfileValue {
			return false
		}
		least := extreme(kind, -1, a, b)
		return least != nil && *least == *a
	}
	return kind == domain.KindOf(other.Type) && (less(c.Max, other.Min) || less(other.Max, c.Min))
}

// mostTopIn reports whether the frequent values can be among those of another column, as far
// as all of these are known.
func mostTopIn(c, to domain.ColumnProfile) bool {
	if len(c.Top) == 0 || int64(len(to.Top)) < to.Distinct {
		return true
	}
	missing := 1 - domain.MinContained
	if int64(len(c.Top)) < c.Distinct {
		missing = 0.5 // the others may be there
	}
	_, together := mergeTop(domain.KindOf(c.Type), to.Top, c.Top)
	return float64(together-len(to.Top)) <= missing*float64(len(c.Top))
}

// mayBeIn reports whether most values can be among those of another sketch: then few groups
// have a greater entry than there.
func mayBeIn(s, other domain.Sketch) bool {
	if len(s) != domain.SketchSize || len(other) != domain.SketchSize {
		return true
	}
	// With fewer groups in use, chance decides. In half of them values of another kind have
	// the greater entry.
	const minGroups, maxGreater = 16, 0.4
	used, greater, others := 0, 0, 0
	for i, rank := range s {
		if rank > 0 {
			used++
		}
		if other[i] > 0 {
			others++
		}
		if rank > other[i] {
			greater++
		}
	}
	return used < minGroups || others == 0 || float64(greater) <= maxGreater*float64(used)
}
