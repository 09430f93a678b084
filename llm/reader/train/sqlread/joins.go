package sqlread

import "parley/llm/reader/catalog"

// Joins returns the pairs of columns on which a query joins tables, as far as it can be read.
func Joins(sql string, cat *catalog.Catalog) (pairs [][2]int) {
	tokens, err := lex(sql)
	if err != nil {
		return nil
	}
	defer func() {
		if failed, ok := recover().(error); ok && !isFailure(failed) {
			panic(failed)
		}
	}()
	p := &parser{tokens: tokens, with: map[string]*statement{}}
	all := []*statement{p.statement()}
	for len(all) > 0 {
		s := all[0]
		all = all[1:]
		add := func(n *node) {
			n.visit(func(n *node) {
				if n.sub != nil {
					all = append(all, n.sub)
				}
			})
		}
		for _, i := range s.items {
			add(i.node)
		}
		add(s.where)
		add(s.having)
		if s.right != nil {
			all = append(all, s.right)
		}
		tables := true
		for _, f := range s.from {
			if f.sub != nil {
				all, tables = append(all, f.sub), false
			}
		}
		if tables {
			r := &reader{cat: cat}
			r.open(s)
			pairs = append(pairs, r.scope.on...)
		}
	}
	return pairs
}

func isFailure(err error) bool {
	_, ok := err.(failure)
	return ok
}
