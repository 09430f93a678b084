package storage

import "math"

// Sketch estimates how many different values there are, as HyperLogLog does: for each of
// SketchSize groups of hashes the most trailing zeros of one, plus one; 0 for an empty group.
// Of SketchSample hashes one counts, which saves most of the time. The standard error is
// about 7 percent of many values; of few, which are counted, it is more.
type Sketch []byte

// SketchSize is the number of groups, MaxRank the greatest entry of one.
const (
	SketchSize   = 256
	MaxRank      = 32
	SketchSample = 32
)

// Estimate gives about how many different values there are.
func (s Sketch) Estimate() int64 {
	if len(s) != SketchSize {
		return 0
	}
	sum, empty := 0.0, 0
	for _, rank := range s {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			empty++
		}
	}
	const bias = 0.7213 / (1 + 1.079/SketchSize)
	estimate := bias * SketchSize * SketchSize / sum
	if estimate <= 2.5*SketchSize && empty > 0 {
		estimate = SketchSize * math.Log(SketchSize/float64(empty))
	}
	return int64(math.Round(estimate * SketchSample))
}

// merge gives the sketch of the values of both.
func (s Sketch) merge(other Sketch) Sketch {
	if len(s) != SketchSize || len(other) != SketchSize {
		return nil
	}
	both := make(Sketch, SketchSize)
	for i := range both {
		both[i] = max(s[i], other[i])
	}
	return both
}

// mayBeIn reports whether most values can be among those of another sketch: then few groups
// have a greater entry than there.
func (s Sketch) mayBeIn(other Sketch) bool {
	if len(s) != SketchSize || len(other) != SketchSize {
		return true
	}
	// With fewer groups in use, chance decides. In half of them values of another kind have
	// the greater entry.
	const minGroups, maxGreater = 16, 0.4
	used, greater, others := 0, 0, 0
	for i, rank := range s {
		if rank > 0 {
			used++
		}
		if other[i] > 0 {
			others++
		}
		if rank > other[i] {
			greater++
		}
	}
	return used < minGroups || others == 0 || float64(greater) <= maxGreater*float64(used)
}
