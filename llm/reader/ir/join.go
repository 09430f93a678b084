package ir

import (
	"errors"
	"slices"

	"parley/llm/reader/catalog"
)

var errNoPath = errors.New("tables that no link connects")

// step is a link of a join path, from one table to the next.
type step struct {
	from, to int
	link     catalog.Link
	// many says that several rows of to can belong to one row of from.
	many bool
}

// graph is the graph of tables and links.
type graph struct {
	cat *catalog.Catalog
	via int
}

// steps returns the links from a table, those of the column via first.
func (g graph) steps(table int) []step {
	var all []step
	for _, l := range g.cat.Links {
		a, b := g.cat.Columns[l.From].Table, g.cat.Columns[l.To].Table
		switch table {
		case a:
			all = append(all, step{a, b, l, l.Many})
		case b:
			all = append(all, step{b, a, l, true})
		}
	}
	if g.via >= 0 {
		slices.SortStableFunc(all, func(a, b step) int { return g.viaRank(a) - g.viaRank(b) })
	}
	return all
}

func (g graph) viaRank(s step) int {
	if s.link.From == g.via || s.link.To == g.via {
		return 0
	}
	return 1
}

// path finds the shortest path from some tables to another, by breadth-first search.
func (g graph) path(from []int, to int) ([]step, error) {
	if slices.Contains(from, to) {
		return nil, nil
	}
	reachedBy := map[int]step{}
	queue := slices.Clone(from)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, s := range g.steps(at) {
			if _, seen := reachedBy[s.to]; seen || slices.Contains(from, s.to) {
				continue
			}
			reachedBy[s.to] = s
			if s.to == to {
				return trace(reachedBy, from, to), nil
			}
			queue = append(queue, s.to)
		}
	}
	return nil, errNoPath
}

func trace(reachedBy map[int]step, from []int, to int) []step {
	var path []step
	for !slices.Contains(from, to) {
		path = append(path, reachedBy[to])
		to = reachedBy[to].from
	}
	slices.Reverse(path)
	return path
}

// joins has the tables of one SELECT and their join path.
type joins struct {
	graph
	tables []int
	steps  []step
}

// add joins a table, with those on the path to it.
func (j *joins) add(table int) error {
	if len(j.tables) == 0 {
		j.tables = []int{table}
		return nil
	}
	path, err := j.path(j.tables, table)
	if err != nil {
		return err
	}
	j.follow(path)
	return nil
}

func (j *joins) follow(path []step) {
	for _, s := range path {
		j.tables = append(j.tables, s.to)
		j.steps = append(j.steps, s)
	}
}

// multiplies reports whether the joins repeat rows of a table: whether a path from it has a
// step to many.
func (j *joins) multiplies(table int) bool {
	seen := map[int]bool{table: true}
	queue := []int{table}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, s := range j.steps {
			next, many := s.to, s.many
			if s.to == at {
				next, many = s.from, s.link.Many || !s.many
			} else if s.from != at {
				continue
			}
			if seen[next] {
				continue
			}
			if many {
				return true
			}
			seen[next] = true
			queue = append(queue, next)
		}
	}
	return false
}
