package lake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/words"
	"parley/storage"
)

// Limits of the search for links from one dataset.
const (
	// maxByName and maxByValues limit the pairs of columns that are measured, with related
	// names and without.
	maxByName, maxByValues = 24, 8
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
	kind := storage.KindOf(typ)
	return kind == storage.KindText || typ == "UUID" || kind == storage.KindNumber && typ != "DOUBLE" && typ != "FLOAT"
}

// candidate is a link to be measured.
type candidate struct {
	storage.Link
	relation int
}

// suggester finds links from a dataset to others.
type suggester struct {
	linkMeter
	from storage.DatasetData
	// taken has columns, in lower case, that need no other link.
	taken map[string]bool
}

// suggest gives links from a dataset that names or values speak for, and that the rows
// confirm: one at most for each column that is not taken.
func (m linkMeter) suggest(ctx context.Context, from storage.DatasetData, taken map[string]bool) ([]storage.MeasuredLink, error) {
	key := fmt.Sprintf("%s %v %x", from.ID, taken, m.versions)
	if known, ok := m.links.suggested.get(key); ok {
		return slices.Clone(known), nil
	}
	s := suggester{linkMeter: m, from: from, taken: taken}
	found, err := s.search(ctx)
	if err == nil {
		m.links.suggested.put(key, found)
	}
	return slices.Clone(found), err
}

func (s suggester) search(ctx context.Context) ([]storage.MeasuredLink, error) {
	candidates, err := s.candidates(ctx)
	if err != nil {
		return nil, err
	}
	var found []storage.MeasuredLink
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
		found = append(found, storage.MeasuredLink{Link: c.Link, Measure: measure})
	}
	return found, nil
}

// candidates gives the pairs of columns to measure, those that names say most for first.
func (s suggester) candidates(ctx context.Context) ([]candidate, error) {
	related, others := s.pairs()
	byName, err := s.plausible(ctx, related, maxByName)
	if err != nil {
		return nil, err
	}
	byValues, err := s.plausible(ctx, others, maxByValues)
	return append(byName, byValues...), err
}

// namedColumn is a column with the words of its name.
type namedColumn struct {
	storage.Column
	kind  storage.ValueKind
	words []string
}

// keyColumns gives the columns that may identify rows.
func keyColumns(data storage.DatasetData) (columns []namedColumn) {
	for _, c := range data.Columns {
		if mayKey(c.Type) {
			columns = append(columns, namedColumn{c, storage.KindOf(c.Type), words.Of(c.Name)})
		}
	}
	return columns
}

// pairs gives the pairs of columns with related names, the best ones first, and those of
// texts without.
func (s suggester) pairs() (related, others []candidate) {
	own := slices.DeleteFunc(keyColumns(s.from), func(c namedColumn) bool { return s.taken[strings.ToLower(c.Name)] })
	datasets := 0
	for _, to := range s.all {
		if to.ID == s.from.ID || to.RowCount == 0 {
			continue
		}
		datasets++
		name, columns := words.Of(to.Name), keyColumns(to)
		for _, c := range own {
			for _, toColumn := range columns {
				if c.kind != toColumn.kind {
					continue
				}
				pair := candidate{relation: relation(c.words, name, toColumn.words),
					Link: storage.Link{From: s.from.Name, Columns: []string{c.Name}, To: to.Name, ToColumns: []string{toColumn.Name}}}
				switch {
				case pair.relation != unrelated:
					related = append(related, pair)
				case datasets <= maxOtherProfiles && c.kind != storage.KindNumber:
					// Small numbers are in every key.
					others = append(others, pair)
				}
			}
		}
	}
	slices.SortStableFunc(related, func(a, b candidate) int { return cmp.Compare(b.relation, a.relation) })
	return related, others
}

// plausible gives those of some pairs, at most limit, that the profiles of their columns
// allow.
func (s suggester) plausible(ctx context.Context, pairs []candidate, limit int) ([]candidate, error) {
	var some []candidate
	for _, pair := range pairs {
		if len(some) == limit {
			break
		}
		from, _, err := s.profile(ctx, pair.From, pair.Columns[0])
		if err != nil {
			return nil, err
		}
		to, rows, err := s.profile(ctx, pair.To, pair.ToColumns[0])
		if err != nil {
			return nil, err
		}
		switch {
		case from == nil || to == nil:
			// Nothing is known but the names.
			if pair.relation > sameBeginning {
				some = append(some, pair)
			}
		case pair.relation == unrelated && from.Distinct < minValues:
		case from.MayReferTo(*to, rows):
			some = append(some, pair)
		}
	}
	return some, nil
}

// profile gives the profile of a column, nil when it has none, and the number of rows.
func (s suggester) profile(ctx context.Context, dataset, column string) (*storage.ColumnProfile, int64, error) {
	profile, ok := s.profiles[dataset]
	data, _, err := s.find(dataset, nil)
	if err != nil || isAttachment(data) {
		return nil, 0, err
	}
	if !ok {
		ref := storage.DatasetRef{Owner: data.Owner, Namespace: data.Namespace, Name: dataset}
		if profile, err = s.config.Records.Profile(ctx, s.caller, ref); err != nil {
			return nil, 0, fmt.Errorf("read a profile: %w", err)
		}
		s.profiles[dataset] = profile
	}
	at := slices.IndexFunc(profile.Columns, func(c storage.ColumnProfile) bool { return c.Name == column })
	if at < 0 || !profile.Known {
		return nil, 0, nil
	}
	return &profile.Columns[at], profile.RowCount, nil
}
