package dataset

import (
	"hash/fnv"
	"strings"
)

// The parts of the data. Whatever is fitted is fitted on Train, choices are made on
// Dev, and figures are reported on Validation, whose questions nobody reads.
const (
	Train      = "train"
	Dev        = "dev"
	Validation = "validation"
)

// trainOnly are databases whose questions were known when the split was made.
var trainOnly = map[string]bool{"spider/railway": true, "spider/restaurant_1": true, "spider/hr_1": true}

// Part returns the part of a database by a hash of its name: 18 of 100 are for validation
// and 8 for development. Published tables whose names begin with the same word may have one
// publisher: they are in the same part.
func Part(db string) string {
	switch {
	case strings.HasPrefix(db, "spider-a/"):
		return Dev
	case trainOnly[db]:
		return Train
	}
	if name, ok := strings.CutPrefix(db, "public/"); ok {
		word, _, _ := strings.Cut(name, "_")
		db = "public/" + word
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(db))
	switch n := h.Sum32() % 1000; {
	case n < 180:
		return Validation
	case n < 260:
		return Dev
	}
	return Train
}
