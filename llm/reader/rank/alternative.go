package rank

import (
	"parley/internal/locale"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

const (
	// alternativeFactor is the least confidence of a second reading, as a part of that of
	// the first, for the two to be about equally likely.
	alternativeFactor = 0.5
	// alternativeThreshold is the confidence that one of the two is right from which on the
	// asker is asked which one: on development questions it is in three of four cases.
	alternativeThreshold = 0.75
)

// Alternative returns the number of a reading that is about as likely as the first, so that
// the asker should choose. Neither can be used as an answer without that. Both have rows,
// leave no word out and differ in words. It returns 0 if there is none.
func Alternative(all []Reading, cat *catalog.Catalog) int {
	if len(all) == 0 || !offers(&all[0]) || IsSure(all[0].Confidence) {
		return 0
	}
	first := ir.Describe(all[0].Query, cat, locale.Numbers{})
	for i := 1; i < len(all); i++ {
		if offers(&all[i]) && ir.Describe(all[i].Query, cat, locale.Numbers{}) != first {
			if AboutEqual(all[0].Confidence, all[i].Confidence) {
				return i
			}
			return 0
		}
	}
	return 0
}

// AboutEqual reports whether two readings with these confidences are about equally likely,
// and together likely enough to ask which one is meant.
func AboutEqual(first, second float64) bool {
	return second >= alternativeFactor*first && first+second >= alternativeThreshold
}

// offers reports whether a reading can be offered to choose from.
func offers(r *Reading) bool { return !r.Empty && len(r.Unread) == 0 && r.Unreadable < 0 }
