package sqlread

import (
	"slices"
	"strings"
)

// flatten returns a statement without queries in FROM: they become conditions, or the
// argument of an aggregate.
func flatten(s *statement) *statement {
	switch {
	case len(s.from) == 2 && s.from[0].sub == nil && s.from[1].sub == nil && strings.EqualFold(s.from[0].table, s.from[1].table):
		return paired(s)
	case !slices.ContainsFunc(s.from, func(f source) bool { return f.sub != nil }):
		return s
	case len(s.from) > 1:
		fail("a query in FROM with others")
	}
	inner := *flatten(s.from[0].sub)
	if inner.set != "" && (s.where != nil || len(s.group) > 0) {
		fail("conditions on a union")
	}
	outer := *s
	named := func(n *node) *node {
		if n.kind != 'c' {
			return nil
		}
		for _, i := range inner.items {
			if i.alias == strings.ToLower(n.text) || i.alias == "" && i.kind == 'c' && strings.EqualFold(i.text, n.text) {
				return i.node
			}
		}
		return nil
	}
	grouped := len(inner.group) > 0 || slices.ContainsFunc(inner.items, func(i item) bool { return i.hasAggregate() })
	if !inner.hasLimit && !inner.distinct && inner.set == "" {
		for _, c := range conjuncts(s.where) {
			if c = c.replace(named); c.hasAggregate() {
				inner.having = both(inner.having, c)
			} else {
				inner.where = both(inner.where, c)
			}
		}
		outer.where = nil
	}
	outer.items = nil
	for _, i := range s.items {
		if i.alias == "" && i.kind == 'c' {
			i.alias = strings.ToLower(i.text)
		}
		outer.items = append(outer.items, i)
	}
	if len(s.items) == 1 && s.items[0].hasAggregate() && len(s.group) == 0 && s.having == nil && outer.where == nil {
		return fold(&outer, &inner, named)
	}
	if outer.where != nil || grouped && (len(s.group) > 0 || slices.ContainsFunc(s.items, func(i item) bool { return i.hasAggregate() })) || inner.distinct || inner.set != "" {
		fail("a query in FROM")
	}
	merged := inner
	if !(len(s.items) == 1 && s.items[0].kind == '*') {
		merged.items = nil
		for _, i := range outer.items {
			merged.items = append(merged.items, item{i.replace(named), i.alias})
		}
	}
	for _, g := range s.group {
		merged.group = append(merged.group, g.replace(named))
	}
	merged.having = both(merged.having, s.having.replace(named))
	if len(s.order) > 0 {
		if inner.hasLimit {
			fail("an order of the first rows")
		}
		merged.order = nil
		for _, o := range s.order {
			merged.order = append(merged.order, sorted{o.by.replace(named), o.desc})
		}
	}
	if s.hasLimit {
		merged.limit, merged.offset, merged.hasLimit = s.limit, s.offset, true
	}
	if slices.ContainsFunc(merged.items, func(i item) bool { return i.window != nil }) {
		fail("a window")
	}
	return &merged
}

// fold returns the statement for an aggregate over the rows of a query.
func fold(outer, inner *statement, named func(*node) *node) *statement {
	if n := simplify(outer.items[0].node); n.kind != 'f' || !aggregates[n.text] || len(n.args) != 1 {
		fail("a calculation with the rows of a query")
	}
	n := outer.items[0].node
	grouped := len(inner.group) > 0 || slices.ContainsFunc(inner.items, func(i item) bool { return i.hasAggregate() })
	plain := !grouped && !inner.hasLimit && inner.set == ""
	switch {
	case n.filter != nil, n.distinct && !plain:
		fail("a filter of the rows of a query")
	case plain && inner.distinct && n.args[0].kind == '*' && len(inner.items) == 1:
		inner.distinct = false
		inner.items = []item{{node: &node{kind: 'f', text: "count", distinct: true, args: []*node{inner.items[0].node}}}}
		return inner
	case plain && !inner.distinct:
		inner.items, inner.order = []item{{node: n.replace(named)}}, nil
		return inner
	case n.args[0].kind != '*':
		of := named(n.args[0])
		if of == nil {
			fail("no column %s", n.args[0].text)
		}
		inner.items = []item{{node: of}}
	case len(inner.group) > 0 && inner.set == "":
		inner.items = nil
		for _, g := range inner.group {
			inner.items = append(inner.items, item{node: g})
		}
	}
	return &statement{items: []item{{node: &node{kind: 'f', text: n.text, sub: inner}, alias: outer.items[0].alias}}}
}

// paired returns the statement for a table that is joined with itself on a key, to compare
// two rows for each key: groups by the key, with an aggregate for each row.
func paired(s *statement) *statement {
	a, b := s.from[0].name(), s.from[1].name()
	conds := append(conjuncts(s.from[1].on), conjuncts(s.where)...)
	var keys []*node
	for i := 0; i < len(conds); i++ {
		c := conds[i]
		if c.isOp("=") && c.args[0].kind == 'c' && c.args[1].kind == 'c' && c.args[0].of != c.args[1].of && strings.EqualFold(c.args[0].text, c.args[1].text) {
			keys = append(keys, &node{kind: 'c', text: c.args[0].text})
			conds = slices.Delete(conds, i, i+1)
			i--
		}
	}
	isKey := func(n *node) bool {
		return slices.ContainsFunc(keys, func(k *node) bool { return strings.EqualFold(k.text, n.text) })
	}
	if len(keys) == 0 || len(s.group) > 0 {
		fail("a table twice")
	}
	sides := map[string]*node{}
	var where, having []*node
	bare := func(n *node) *node {
		return n.replace(func(m *node) *node {
			if m.kind == 'c' {
				return &node{kind: 'c', text: m.text, quoted: m.quoted}
			}
			return nil
		})
	}
	for _, c := range conds {
		of, onKey := map[string]bool{}, true
		c.visit(func(n *node) {
			if n.kind == 'c' && n.text != "null" {
				of[n.of] = true
				onKey = onKey && isKey(n)
			}
		})
		switch {
		case onKey:
			where = append(where, bare(c))
		case len(of) > 1:
			having = append(having, c)
		case c.isOp("not") && c.args[0].isOp("is"):
		case of[a]:
			sides[a] = both(sides[a], bare(c))
		case of[b]:
			sides[b] = both(sides[b], bare(c))
		default:
			fail("a table twice")
		}
	}
	used := map[string]bool{}
	of := func(n *node) *node {
		switch {
		case n.kind != 'c' || n.text == "null":
			return nil
		case isKey(n):
			return &node{kind: 'c', text: n.text}
		}
		used[n.of] = true
		return &node{kind: 'f', text: "max", args: []*node{{kind: 'c', text: n.text}}, filter: sides[n.of]}
	}
	merged := &statement{from: []source{{table: s.from[0].table}}, where: conjunction(where), group: keys, limit: s.limit, offset: s.offset, hasLimit: s.hasLimit}
	for _, c := range having {
		merged.having = both(merged.having, c.replace(of))
	}
	for _, o := range s.order {
		merged.order = append(merged.order, sorted{o.by.replace(of), o.desc})
	}
	defer func() {
		if sides[a] == nil || sides[b] == nil || !used[a] || !used[b] {
			fail("a table twice")
		}
	}()
	if len(s.items) == 1 && s.items[0].kind == 'f' && s.items[0].text == "count" {
		for _, k := range keys {
			merged.items = append(merged.items, item{node: k})
		}
		return &statement{items: []item{{node: &node{kind: 'f', text: "count", sub: merged}}}}
	}
	for _, i := range s.items {
		merged.items = append(merged.items, item{i.replace(of), i.alias})
	}
	return merged
}

// sideBySide returns a statement that groups by conditions with the figures of all groups in one
// row instead.
func sideBySide(s *statement) *statement {
	if len(s.group) != 1 || len(s.items) < 2 || len(s.order) > 0 || s.having != nil || s.hasLimit || s.set != "" {
		return s
	}
	at := slices.IndexFunc(s.items, func(i item) bool {
		g := s.group[0]
		return same(g, i.node) || g.kind == 'c' && i.alias != "" && strings.EqualFold(g.text, i.alias)
	})
	if g := s.group[0]; g.kind == 'n' {
		at = int(value(g)) - 1
	}
	if at < 0 || at >= len(s.items) {
		return s
	}
	var conds []*node
	switch key := s.items[at].node; {
	case key.kind == 'o' && comparisons[key.text]:
		conds = []*node{key, operator("not", key)}
	case key.kind == 'k' && len(key.args) == 3:
		conds = []*node{key.args[0], operator("not", key.args[0])}
	case key.kind == 'k' && len(key.args)%2 == 0:
		for i := 0; i < len(key.args); i += 2 {
			conds = append(conds, key.args[i])
		}
	default:
		return s
	}
	split := *s
	split.items, split.group = nil, nil
	for i, one := range s.items {
		if i == at {
			continue
		}
		for _, c := range conds {
			split.items = append(split.items, item{node: one.replace(func(n *node) *node {
				if n.kind != 'f' || !aggregates[n.text] {
					return nil
				}
				copied := *n
				copied.filter = both(n.filter, c)
				return &copied
			})})
		}
	}
	return &split
}
