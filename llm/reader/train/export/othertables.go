package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/train/dataset"
)

// Limits of the tables that are added to those of a database.
const (
	maxOtherTables  = 3
	maxOtherColumns = 12
)

// withOtherTables returns the catalog of a database with some tables of others after its
// own, so that the network learns to choose among unrelated tables. It returns nil if it
// found none.
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
