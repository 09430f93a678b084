package joinguard

import (
	"fmt"
	"strings"

	"parley/internal/domain"
	"parley/internal/locale"
)

const cannotRewrite = "the joins of this query repeat rows that it aggregates, and it cannot be rewritten; aggregate each dataset in a subquery before the join"

// tables names the datasets of some relations, each once.
func (s *selection) tables(of set) string {
	var names []string
	seen := map[string]bool{}
	for i, r := range s.relations {
		if of.has(i) && !seen[r.title] {
			seen[r.title] = true
			names = append(names, "`"+r.title+"`")
		}
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// call names a call of an aggregate.
func (a aggregate) call() string {
	args := list(a.node["children"])
	name := text(a.node["function_name"])
	if name == "count_star" {
		return "count(*)"
	}
	if len(args) == 1 {
		var names []string
		for _, part := range list(object(args[0])["column_names"]) {
			names = append(names, text(part))
		}
		if len(names) > 0 {
			return name + "(" + strings.Join(names, ".") + ")"
		}
	}
	return name + "(…)"
}

// repeating returns those of some relations that match the others directly.
func (s *selection) repeating(others set) set {
	var near set
	for _, e := range s.edges {
		for side, i := range e.of {
			if others.has(i) && !others.has(e.of[1-side]) {
				near |= 1 << i
			}
		}
	}
	if near == 0 {
		return others
	}
	return near
}

// repeats says that an aggregate is rewritten.
func (g *guard) repeats(s *selection, a aggregate) (string, error) {
	closed, err := g.closure(s, a.of)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Each row of %s counts once, although several rows of %s match it.",
		s.tables(a.of), s.tables(s.repeating(s.all()&^closed))), nil
}

// refusal says why an aggregate is refused.
func refusal(s *selection, a aggregate, others set) error {
	of, by := s.tables(a.of), s.tables(s.repeating(others))
	return domain.Errorf(domain.ErrInvalid, "%s takes the same row of %s several times, once for each row of %s that matches it. "+
		"If each row of %s should count once, aggregate it before the join or use EXISTS in place of the join; "+
		"if it should count for each row of %s, join in a subquery and aggregate the rows of that", a.call(), of, by, of, by)
}

// refusePairs says why a count of the rows of a join is refused.
func refusePairs(s *selection, a aggregate) error {
	return domain.Errorf(domain.ErrInvalid, "%s takes every combination of matching rows of %s, so that rows count several times; "+
		"aggregate each dataset in a subquery before the join, or count the rows of one: count(DISTINCT …)", a.call(), s.tables(s.all()))
}

// lostRows says that rows are left out.
func lostRows(numbers locale.Numbers, count int64, table, other string) string {
	if count == 1 {
		return fmt.Sprintf("1 row of `%s` is left out: it has no match in `%s`.", table, other)
	}
	return fmt.Sprintf("%s rows of `%s` are left out: they have no match in `%s`.", numbers.Int(count), table, other)
}
