package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/words"
	"parley/storage/profile"
)

// Limits of the search for links from one dataset.
const (
	// maxByName and maxByValues limit the pairs of columns that are measured, with related
	// names and without.
	maxByName, maxByValues = 24, 8
	// maxPairs limits the pairs whose profiles are compared: those with related names, and
	// those without for each other dataset.
	maxPairs = 20_000
	// maxOtherProfiles limits the datasets whose values are compared without related names.
	maxOtherProfiles = 30
	// minValues is the least number of different values for a link without related names.
	minValues = 10
	// certainShare is the share of values and rows that a link needs whose names say little.
	certainShare = 0.95
)

// How much the names of a column and of another dataset's column say for a link.
const (
	unrelated = iota
	// sameBeginning is cust_id and customers.id.
	sameBeginning
	// sameName is email and customers.email.
	sameName
	// namesDataset is customer, or billing_customer_id, and customers.id.
	namesDataset
	// namesKey is customer_id and customers.id or customers.customer_id.
	namesKey
)

// identifiers are the last words of names of columns that identify something.
var identifiers = wordSet("id code no number key uuid guid identifier name")

// commonNames are names that columns of many datasets have, which mean something else in each.
var commonNames = wordSet("id name title description date type year status country city state month day time hour rank position index row no number count total amount value price quantity note comment text code key")

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, word := range words.Of(text) {
		set[word] = true
	}
	return set
}

// relation says how much names say for a link of a column to a column of a dataset.
func relation(column []string, dataset, toColumn []string) int {
	if len(column) == 0 || len(dataset) == 0 || len(toColumn) == 0 {
		return unrelated
	}
	identifier := identifiers[toColumn[len(toColumn)-1]]
	own, isReference := cutSuffix(column, toColumn[len(toColumn)-1:])
	same := slices.Equal(column, toColumn)
	switch {
	case len(column) == 1 && column[0] == "id":
		return unrelated
	case identifier && isReference && slices.Equal(own, dataset):
		return namesKey
	case identifier && (slices.Equal(column, dataset) || isReference && endsWith(own, dataset) || isReference && endsWith(dataset, own)):
		return namesDataset
	case same && (len(column) > 1 || !commonNames[column[0]]):
		return sameName
	case identifier && isReference && len(own) > 0 && len(own[0]) >= 3 && strings.HasPrefix(dataset[0], own[0]):
		return sameBeginning
	}
	return unrelated
}

func cutSuffix(list, suffix []string) ([]string, bool) {
	if !endsWith(list, suffix) {
		return list, false
	}
	return list[:len(list)-len(suffix)], true
}

// endsWith reports whether a list ends with another that is not empty.
func endsWith(list, suffix []string) bool {
	return len(suffix) > 0 && len(suffix) <= len(list) && slices.Equal(list[len(list)-len(suffix):], suffix)
}

// mayKey reports whether columns of a type can identify rows. Fractions and times rarely do.
func mayKey(typ string) bool {
	kind := domain.KindOf(typ)
	return kind == domain.KindText || typ == "UUID" || kind == domain.KindNumber && typ != "DOUBLE" && typ != "FLOAT"
}

// candidate is a link to be measured.
type candidate struct {
	domain.Link
	relation int
}

// suggester finds links from a dataset to others.
type suggester struct {
	linkMeter
	from domain.DatasetData
	// taken has columns, in lower case, that need no other link.
	taken map[string]bool
}

// suggest returns links from a dataset that names or values speak for, and that the rows
// confirm: one at most for each column that is not taken.
func (m linkMeter) suggest(ctx context.Context, from domain.DatasetData, taken map[string]bool) ([]domain.MeasuredLink, error) {
	key := fmt.Sprintf("%s %v %x", from.ID, taken, m.versions)
	if known, ok := m.links.suggested.Get(key); ok {
		return slices.Clone(known), nil
	}
	s := suggester{linkMeter: m, from: from, taken: taken}
	found, err := s.search(ctx)
	if err == nil {
		m.links.suggested.Put(key, found, 1)
	}
	return slices.Clone(found), err
}

func (s suggester) search(ctx context.Context) ([]domain.MeasuredLink, error) {
	candidates, err := s.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var found []domain.MeasuredLink
	linked := map[string]bool{}
	for _, c := range candidates {
		if linked[c.Columns[0]] {
			continue
		}
		measure, err := s.measure(ctx, c.Link)
		if err != nil {
			return found, err
		}
		if measure == nil || !measure.MaySuggest() || c.relation <= sameBeginning && !measure.Contained(certainShare) ||
			c.relation == unrelated && measure.Values < minValues {
			continue
		}
		linked[c.Columns[0]] = true
		found = append(found, domain.MeasuredLink{Link: c.Link, Measure: measure})
	}
	return found, nil
}

// candidates returns the pairs of columns to measure, those that names say most for first.
func (s suggester) candidates(ctx context.Context) ([]candidate, error) {
	byName, err := s.byName(ctx)
	if err != nil {
		return nil, err
	}
	byValues, err := s.byValues(ctx)
	return append(byName, byValues...), err
}

// namedColumn is a column with the words of its name.
type namedColumn struct {
	domain.Column
	kind  domain.ValueKind
	words []string
}

func (c namedColumn) lastWord() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[len(c.words)-1]
}

// keyColumns returns the columns that may identify rows.
func keyColumns(data domain.DatasetData) (columns []namedColumn) {
	for _, c := range data.Columns {
		if mayKey(c.Type) {
			columns = append(columns, namedColumn{c, domain.KindOf(c.Type), words.Of(c.Name)})
		}
	}
	return columns
}

// own returns the columns of the dataset that may have a link.
func (s suggester) own() []namedColumn {
	return slices.DeleteFunc(keyColumns(s.from), func(c namedColumn) bool { return s.taken[strings.ToLower(c.Name)] })
}

// targets returns the datasets that links may lead to.
func (s suggester) targets() (targets []domain.DatasetData) {
	for _, to := range s.all {
		if to.ID != s.from.ID && to.RowCount != 0 {
			targets = append(targets, to)
		}
	}
	return targets
}

func (s suggester) pair(c namedColumn, to domain.DatasetData, toColumn namedColumn, relation int) candidate {
	link := domain.Link{From: s.from.Name, Columns: []string{c.Name}, To: to.Name, ToColumns: []string{toColumn.Name}}
	return candidate{link, relation}
}

// related returns the pairs of columns with related names, at most maxPairs, the best ones first.
func (s suggester) related(ctx context.Context) ([]candidate, error) {
	var found [namesKey + 1][]candidate
	own := s.own()
	for _, to := range s.targets() {
		name, columns := words.Of(to.Name), keyColumns(to)
		byLastWord := map[string][]namedColumn{}
		for _, c := range columns {
			byLastWord[c.lastWord()] = append(byLastWord[c.lastWord()], c)
		}
		for _, c := range own {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			// Related names end in the same word, or the first is that of the dataset.
			possible := byLastWord[c.lastWord()]
			if slices.Equal(c.words, name) {
				possible = columns
			}
			for _, toColumn := range possible {
				if c.kind != toColumn.kind {
					continue
				}
				if r := relation(c.words, name, toColumn.words); r != unrelated && len(found[r]) < maxPairs {
					found[r] = append(found[r], s.pair(c, to, toColumn, r))
				}
			}
		}
	}
	slices.Reverse(found[:])
	best := slices.Concat(found[:]...)
	return best[:min(len(best), maxPairs)], nil
}

// byName returns pairs with related names that the profiles of their columns allow.
func (s suggester) byName(ctx context.Context) ([]candidate, error) {
	pairs, err := s.related(ctx)
	if err != nil {
		return nil, err
	}
	var some []candidate
	for _, pair := range pairs {
		if err := ctx.Err(); err != nil || len(some) == maxByName {
			return some, err
		}
		own, err := s.profile(ctx, pair.From)
		if err != nil {
			return nil, err
		}
		other, err := s.profile(ctx, pair.To)
		if err != nil {
			return nil, err
		}
		from, to := own.columns[pair.Columns[0]], other.columns[pair.ToColumns[0]]
		switch {
		case from == nil || to == nil:
			// Nothing is known but the names.
			if pair.relation > sameBeginning {
				some = append(some, pair)
			}
		case profile.MayReferTo(*from, *to, other.rows):
			some = append(some, pair)
		}
	}
	return some, nil
}

// byValues returns pairs of texts with unrelated names that the profiles of their columns allow.
func (s suggester) byValues(ctx context.Context) ([]candidate, error) {
	own, err := s.texts(ctx, s.from.Name, s.own(), func(c profiledColumn) bool { return c.profile.Distinct >= minValues })
	if err != nil || len(own) == 0 {
		return nil, err
	}
	var some []candidate
	targets := s.targets()
	for _, to := range targets[:min(len(targets), maxOtherProfiles)] {
		// A column whose values are not unique does not even refer to itself.
		keys, err := s.texts(ctx, to.Name, keyColumns(to), func(c profiledColumn) bool { return c.mayReferTo(c) })
		if err != nil {
			return nil, err
		}
		name := words.Of(to.Name)
		for _, c := range own[:min(len(own), maxPairs/max(len(keys), 1))] {
			for _, key := range keys {
				if err := ctx.Err(); err != nil || len(some) == maxByValues {
					return some, err
				}
				if c.kind == key.kind && c.mayReferTo(key) && relation(c.words, name, key.words) == unrelated {
					some = append(some, s.pair(c.namedColumn, to, key.namedColumn, unrelated))
				}
			}
		}
	}
	return some, nil
}

// profiledColumn is a column with its profile, of a dataset with some rows.
type profiledColumn struct {
	namedColumn
	profile *domain.ColumnProfile
	rows    int64
}

func (c profiledColumn) mayReferTo(to profiledColumn) bool {
	return profile.MayReferTo(*c.profile, *to.profile, to.rows)
}

// texts returns those columns of a dataset that have a profile that is wanted, without numbers:
// small ones are in every key.
func (s suggester) texts(ctx context.Context, dataset string, columns []namedColumn, want func(profiledColumn) bool) (texts []profiledColumn, err error) {
	profile, err := s.profile(ctx, dataset)
	for _, c := range columns {
		text := profiledColumn{c, profile.columns[c.Name], profile.rows}
		if text.profile != nil && c.kind != domain.KindNumber && want(text) {
			texts = append(texts, text)
		}
	}
	return texts, err
}

// columnProfiles has the profiles of a dataset's columns by name, none where they are not
// known, and its number of rows.
type columnProfiles struct {
	columns map[string]*domain.ColumnProfile
	rows    int64
}

func (s suggester) profile(ctx context.Context, dataset string) (columnProfiles, error) {
	if known, ok := s.profiles[dataset]; ok {
		return known, nil
	}
	data, _, err := s.find(dataset, nil)
	if err != nil {
		return columnProfiles{}, err
	}
	var read domain.DatasetProfile
	if !isAttachment(data) {
		ref := domain.DatasetRef{Owner: data.Owner, Namespace: data.Namespace, Name: dataset}
		if read, err = s.config.Records.Profile(ctx, s.caller, ref); err != nil {
			return columnProfiles{}, fmt.Errorf("read a profile: %w", err)
		}
	}
	profile := columnProfiles{map[string]*domain.ColumnProfile{}, read.RowCount}
	for i, c := range read.Columns {
		if read.Known {
			profile.columns[c.Name] = &read.Columns[i]
		}
	}
	s.profiles[dataset] = profile
	return profile, nil
}
