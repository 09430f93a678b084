package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/train/dataset"
)

// Limits of tables that stand beside those of a database.
const (
	maxOtherTables  = 3
	maxOtherColumns = 12
)

// withOtherTables gives the catalog of a database with some tables of others behind its own, so
// that the network learns to choose among tables that have nothing to do with each
// other.
func withOtherTables(s *source, sources []source, rng *rand.Rand) *catalog.Catalog {
	profiles := slices.Clone(s.profiles)
	for range 1 + rng.IntN(maxOtherTables) {
		other := &sources[rng.IntN(len(sources))]
		if other.name == s.name || dataset.Part(other.name) != dataset.Train || strings.HasPrefix(other.name, "wtq/") {
			continue
		}
		p := other.profiles[rng.IntN(len(other.profiles))]
		if len(p.Columns) <= maxOtherColumns && !slices.ContainsFunc(profiles, func(q *catalog.Profile) bool { return strings.EqualFold(q.Name, p.Name) }) {
			profiles = append(profiles, p)
		}
	}
	if len(profiles) == len(s.profiles) {
		return nil
	}
	return catalog.New(profiles, s.cat.Links)
}
