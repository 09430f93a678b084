package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/llm/eval"
	"parley/llm/reader/catalog"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/sqlread"
)

// links declares, for training databases, the links on which at least two of their queries join
// and that the catalog does not infer, as users declare theirs. Databases with links of their
// own, and those of other parts, stay as they are.
func (c *converter) links(set, dir string) error {
	names, err := folders(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		file := filepath.Join(dir, name, "links.json")
		if _, err := os.Stat(file); dataset.Part(set+"/"+name) != dataset.Train || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cat, _, err := dataset.Catalog(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		used := map[[2]int]int{}
		var order [][2]int
		if err := lines(filepath.Join(dir, name, "questions.jsonl"), func(q eval.Question) error {
			for _, pair := range sqlread.Joins(q.SQL, cat) {
				pair = oriented(pair, cat)
				if used[pair]++; used[pair] == 2 && !isLinked(pair, cat) {
					order = append(order, pair)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(order) == 0 {
			continue
		}
		var found [][4]string
		// Declared links of two tables are in place of inferred ones.
		for _, l := range cat.Links {
			if l.Also == nil {
				order = append(order, [2]int{l.From, l.To})
			}
		}
		for _, pair := range order {
			from, to := &cat.Columns[pair[0]], &cat.Columns[pair[1]]
			found = append(found, [4]string{cat.Tables[from.Table].Name, from.Name, cat.Tables[to.Table].Name, to.Name})
		}
		c.counts["databases with declared links"]++
		text, err := json.Marshal(found)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// oriented returns a pair of columns with the one that is unique in its table second.
func oriented(pair [2]int, cat *catalog.Catalog) [2]int {
	a, b := &cat.Columns[pair[0]], &cat.Columns[pair[1]]
	if a.Unique && !b.Unique || a.Unique == b.Unique && strings.Compare(cat.Tables[a.Table].Name, cat.Tables[b.Table].Name) > 0 {
		return [2]int{pair[1], pair[0]}
	}
	return pair
}

func isLinked(pair [2]int, cat *catalog.Catalog) bool {
	return slices.ContainsFunc(cat.Links, func(l catalog.Link) bool {
		return l.From == pair[0] && l.To == pair[1] || l.From == pair[1] && l.To == pair[0]
	})
}
