package domain

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Profile says what the columns of a dataset's version hold.
type Profile struct {
	Rows    int64           `json:"rows"`
	Columns []ColumnProfile `json:"columns"`
}

// ColumnProfile says what a column holds.
type ColumnProfile struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Unit is the unit of its numbers, such as € or %.
	Unit string `json:"unit,omitempty"`
	// Missing counts the rows without a value.
	Missing int64 `json:"missing"`
	// Distinct is about how many different values there are; exactly so where Top has all.
	Distinct int64 `json:"distinct"`
	// Min and Max are the least and the greatest value as text, nil where the type has none.
	Min *string `json:"min,omitempty"`
	Max *string `json:"max,omitempty"`
	// Top are the most frequent values, of columns with not too many different ones.
	Top []ValueCount `json:"top,omitempty"`
	// Histogram is of numbers and times.
	Histogram *Histogram `json:"histogram,omitempty"`
	// Length is of texts.
	Length *Lengths `json:"length,omitempty"`
	// Alike counts the texts that differ from others only in case or in blanks around them, of
	// columns with not too many different ones. It is for the report of an ingestion.
	Alike int64 `json:"-"`
	// Sketch is what Distinct is estimated from.
	Sketch Sketch `json:"sketch,omitempty"`
}

// ValueCount is a value as text and how many rows have it.
type ValueCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// Histogram counts values in bins of equal width from From to To: the seconds since 1970,
// for times. A bin has the value that it starts with, and the last one that it ends with. Bins of
// whole numbers and days ([BinStep]) have whole ones alone; To is then the one after the last.
type Histogram struct {
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Counts []int64 `json:"counts"`
}

// NewHistogram returns the bins for values of a type from least to most, without counts.
func NewHistogram(typ string, least, most float64) *Histogram {
	h, bins := &Histogram{From: least, To: most}, float64(HistogramBins)
	if step := BinStep(typ); step > 0 {
		span := max(most-least, 0) + step // near 2^53 most can be less than least
		width := math.Ceil(span/step/HistogramBins) * step
		bins = max(1, min(math.Ceil(span/width), HistogramBins))
		h.To = max(least+bins*width, most) // which the sum may miss by rounding
	} else if least == most {
		bins = 1
	}
	h.Counts = make([]int64, int(bins))
	return h
}

// Bin returns the least value of a bin and the one at which the next starts.
func (h *Histogram) Bin(i int) (from, to float64) {
	width := (h.To - h.From) / float64(len(h.Counts))
	if to = h.From + float64(i+1)*width; i == len(h.Counts)-1 {
		to = h.To
	}
	return h.From + float64(i)*width, to
}

// BinStep is the difference between neighboring values of a type that has such: 1 of whole
// numbers, the seconds of a day of dates; 0 of others.
func BinStep(typ string) float64 {
	switch {
	case typ == "DATE":
		return 24 * 60 * 60
	case KindOf(typ) != KindNumber || typ == "DOUBLE" || typ == "FLOAT" || strings.HasPrefix(typ, "DECIMAL") && !strings.HasSuffix(typ, ",0)"):
		return 0
	}
	return 1
}

// Lengths are those of texts, in characters.
type Lengths struct {
	Min     int64   `json:"min"`
	Max     int64   `json:"max"`
	Average float64 `json:"average"`
}

// DatasetProfile is the profile of a dataset's current version. One that was made by an
// older program has none: its columns have names and types only.
type DatasetProfile struct {
	Version  int64
	RowCount int64
	Known    bool
	Columns  []ColumnProfile
}

// Limits of a profile.
const (
	// MaxTop is how many of the most frequent values are kept, so that those of several
	// additions can be summed up.
	MaxTop = 50
	// MaxProfileValue is the most characters of a value.
	MaxProfileValue = 64
	// HistogramBins is the number of bins.
	HistogramBins = 20
	// maxProfile limits the bytes of a profile as JSON.
	maxProfile = 1 << 20
)

// ValueKind is what can be said of the values of a type.
type ValueKind int

// The kinds of values.
const (
	// KindOther has no order that means something to people.
	KindOther ValueKind = iota
	KindNumber
	KindTime
	KindText
	// KindPlain is ordered, and is neither of the above.
	KindPlain
)

var (
	numberType = regexp.MustCompile(`^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\([0-9]+,[0-9]+\))$`)
	timeType   = regexp.MustCompile(`^(?:DATE|TIMESTAMP|TIMESTAMP_(?:S|MS|NS)|TIMESTAMP WITH TIME ZONE)$`)
)

// KindOf returns the kind of a type's values.
func KindOf(typ string) ValueKind {
	switch {
	case numberType.MatchString(typ):
		return KindNumber
	case timeType.MatchString(typ):
		return KindTime
	case typ == "VARCHAR":
		return KindText
	case typ == "BOOLEAN", typ == "TIME", typ == "UUID":
		return KindPlain
	}
	return KindOther
}

// Fit returns a profile that is small enough to be kept. It leaves out frequent values, and
// then what else takes much room.
func (p Profile) Fit() Profile {
	p.Columns = append([]ColumnProfile(nil), p.Columns...)
	for keep := MaxTop; p.size() > maxProfile; keep /= 2 {
		for i := range p.Columns {
			c := &p.Columns[i]
			c.Top = c.Top[:min(len(c.Top), keep)]
			if keep == 0 {
				c.Min, c.Max, c.Histogram, c.Length, c.Sketch = nil, nil, nil, nil, nil
			}
		}
		if keep == 0 {
			break
		}
	}
	return p
}

func (p Profile) size() int {
	text, err := json.Marshal(p)
	if err != nil {
		return maxProfile + 1 // a number that JSON does not have
	}
	return len(text)
}

// Compare puts the more frequent value first, then the lesser one.
func (v ValueCount) Compare(kind ValueKind, other ValueCount) int {
	order := cmp.Compare(other.Count, v.Count)
	if order == 0 && kind == KindNumber {
		x, _ := strconv.ParseFloat(v.Value, 64)
		y, _ := strconv.ParseFloat(other.Value, 64)
		order = cmp.Compare(x, y)
	}
	return cmp.Or(order, strings.Compare(v.Value, other.Value))
}

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

// Estimate returns about how many different values there are.
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
