package ir

import (
	"fmt"
	"time"

	"parley/llm/reader/catalog"
)

// secondsOf are the lengths of the units of a duration.
var secondsOf = map[string]int{"second": 1, "minute": 60, "hour": 3600, "day": 86400}

// minDays is how far apart two times are, at both ends of their columns, whose difference is in
// days rather than in hours.
const minDays = 2 * 24 * time.Hour

// durationUnit returns the unit of the time between two columns: days between dates. Between times
// it is the one that was asked for, or one that fits them.
func (e Expr) durationUnit(cat *catalog.Catalog) string {
	from, to := &cat.Columns[e.Column], &cat.Columns[e.Other]
	switch {
	case !from.HasTime || !to.HasTime:
		return "day"
	case e.Unit != "":
		return e.Unit
	case min(apart(from.Least, to.Least), apart(from.Most, to.Most)) >= minDays:
		return "day"
	}
	return "hour"
}

// apart returns how far apart two times are; 0 if one is not known.
func apart(a, b string) time.Duration {
	read := func(text string) (time.Time, error) {
		return time.Parse(time.DateTime, text[:min(len(text), len(time.DateTime))])
	}
	from, err := read(a)
	to, err2 := read(b)
	if err != nil || err2 != nil {
		return 0
	}
	return to.Sub(from).Abs()
}

// between prints the time between two columns. date_diff counts the boundaries of a unit: from
// 23:50 to 00:10 it is one day. So the elapsed time is in seconds; of dates, days are exact.
func (p *printer) between(e Expr) string {
	from, to := p.measure(e.Column), p.measure(e.Other)
	if !p.cat.Columns[e.Column].HasTime || !p.cat.Columns[e.Other].HasTime {
		return "date_diff('day', " + from + ", " + to + ")"
	}
	seconds := "date_diff('second', " + from + ", " + to + ")"
	if size := secondsOf[e.durationUnit(p.cat)]; size > 1 {
		return fmt.Sprintf("(%s / %d.0)", seconds, size)
	}
	return seconds
}

// SetDurationUnit sets the unit of the durations between times in a query: second, minute, hour or
// day, or "" for one that fits.
func (q *Query) SetDurationUnit(unit string) {
	visitor{func(e *Expr) { e.Unit = unit }, func([]Cond) {}}.query(q)
}
