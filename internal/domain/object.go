package domain

// MaxParts is the most parts that an upload can have.
const MaxParts = 10_000

// ObjectUpload addresses an upload to an object store that was begun.
type ObjectUpload struct {
	Key string
	ID  string
}

// PartPlan says how a file of Size bytes is cut: into parts of PartSize bytes, the last
// one of what remains.
type PartPlan struct {
	Size     int64
	PartSize int64
}

// Parts is how many parts there are, numbered from 1. A plan that makes no sense
// has none.
func (p PartPlan) Parts() int {
	if p.Size <= 0 || p.PartSize <= 0 {
		return 0
	}
	return int((p.Size-1)/p.PartSize) + 1
}

// Part is how many bytes a part has, 0 for a number that is no part's.
func (p PartPlan) Part(number int) int64 {
	switch count := p.Parts(); {
	case number < 1 || number > count:
		return 0
	case number == count:
		return p.Size - int64(count-1)*p.PartSize
	default:
		return p.PartSize
	}
}
