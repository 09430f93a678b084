package reader

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// unionParts replaces datasets that are parts of one, such as orders_2023 and orders_2024,
// by their union, unless one of the questions names a part, or the parts stay separate. Links
// follow their datasets.
func unionParts(datasets []llm.Dataset, links []llm.Link, questions, separate []string) ([]llm.Dataset, []llm.Link) {
	groups := map[string][]int{}
	for i, d := range datasets {
		if stem, _ := catalog.SplitPart(d.Name); stem != nil {
			key := strings.Join(stem, "_") + "\n" + columnsKey(d)
			groups[key] = append(groups[key], i)
		}
	}
	unions := map[int]llm.Dataset{} // by the number of the first part
	nameOf := map[string]string{}   // by the name of a part, in lower case
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		members := groups[key]
		name, _, _ := strings.Cut(key, "\n")
		taken := slices.Contains(slices.Collect(maps.Values(nameOf)), name) || slices.ContainsFunc(datasets, func(d llm.Dataset) bool { return strings.EqualFold(d.Name, name) })
		isSeparate := func(i int) bool {
			return slices.Contains(separate, datasets[i].Name) || namesPart(questions, datasets[i].Name)
		}
		if len(members) < 2 || taken || slices.ContainsFunc(members, isSeparate) {
			continue
		}
		unions[members[0]] = union(name, datasets, members)
		for _, i := range members {
			nameOf[strings.ToLower(datasets[i].Name)] = name
		}
	}
	if len(unions) == 0 {
		return datasets, links
	}
	var all []llm.Dataset
	for i, d := range datasets {
		if whole, ok := unions[i]; ok {
			all = append(all, whole)
		} else if nameOf[strings.ToLower(d.Name)] == "" {
			all = append(all, d)
		}
	}
	links = slices.Clone(links)
	for i, l := range links {
		links[i].From, links[i].To = cmp.Or(nameOf[strings.ToLower(l.From)], l.From), cmp.Or(nameOf[strings.ToLower(l.To)], l.To)
	}
	return all, links
}

// columnsKey is equal for datasets with the same columns, in any order. Numbers can be of
// different types.
func columnsKey(d llm.Dataset) string {
	var all []string
	for _, c := range d.Columns {
		kind := c.Type
		if catalog.IsNumber(kind) {
			kind = "number"
		}
		if !strings.HasPrefix(c.Name, "__") {
			all = append(all, strings.ToLower(c.Name)+" "+kind)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// namesPart reports whether one of the questions has the words by which the name of a part
// differs. Numbers below 100 and single letters are in many questions: the other words of
// the name must be beside them.
func namesPart(questions []string, name string) bool {
	stem, part := catalog.SplitPart(name)
	common := !slices.ContainsFunc(part, func(w string) bool { return len(w) > 2 })
	for _, q := range questions {
		var words []string
		for _, t := range link.Tokenize(q) {
			words = append(words, catalog.NameWords(t.Text)...)
		}
		switch {
		case common && (containsSequence(catalog.Stems(words), catalog.Stems(slices.Concat(stem, part))) || containsSequence(catalog.Stems(words), catalog.Stems(slices.Concat(part, stem)))):
			return true
		case !common && !slices.ContainsFunc(part, func(w string) bool { return len(w) > 2 && !slices.Contains(words, w) }):
			return true
		}
	}
	return false
}

// union makes the dataset with the rows of some.
func union(name string, datasets []llm.Dataset, members []int) llm.Dataset {
	first := datasets[members[0]]
	whole := llm.Dataset{Name: name, Description: first.Description}
	for _, c := range first.Columns {
		if !strings.HasPrefix(c.Name, "__") {
			whole.Columns = append(whole.Columns, c)
		}
	}
	versions := make([]string, len(members))
	for i, m := range members {
		d := &datasets[m]
		whole.Parts = append(whole.Parts, d.Name)
		whole.Rows += d.Rows
		versions[i] = d.Version
		for j := range whole.Columns {
			at := slices.IndexFunc(d.Columns, func(c llm.Column) bool { return strings.EqualFold(c.Name, whole.Columns[j].Name) })
			if d.Columns[at].Type != whole.Columns[j].Type {
				whole.Columns[j].Type = "DOUBLE"
			}
		}
	}
	if !slices.Contains(versions, "") {
		whole.Version = strings.Join(versions, " ")
	}
	return whole
}

// mixedParts returns the parts of unions of which a reading uses a column whose numbers have
// different units in different parts: amounts in € and in $ have no sum.
func (f *interpretation) mixedParts(ctx context.Context, task llm.Task) []string {
	if task.Units == nil || len(f.readings) == 0 {
		return nil
	}
	used := f.readings[0].Tokens
	if other := f.alternative(); other != nil {
		used = slices.Concat(used, other.Tokens)
	}
	var mixed []string
	for _, t := range used {
		if t.Class != ir.ColumnRef {
			continue
		}
		column := &f.source.Columns[t.N]
		parts := f.source.Tables[column.Table].Parts
		if len(parts) > 0 && !slices.Contains(mixed, parts[0]) && differentUnits(ctx, task, parts, strings.ToLower(column.Name)) {
			mixed = append(mixed, parts...)
		}
	}
	return mixed
}

// differentUnits reports whether a column has different units in some datasets.
func differentUnits(ctx context.Context, task llm.Task, names []string, column string) bool {
	first := ""
	for _, d := range task.Datasets {
		if !slices.Contains(names, d.Name) {
			continue
		}
		unit := task.Units(ctx, d)[column]
		if first = cmp.Or(first, unit); unit != "" && unit != first {
			return true
		}
	}
	return false
}
