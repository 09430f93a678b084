package sandbox

import (
	"fmt"
	"math"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// checkProfile refuses a profile that an honest worker does not make.
func checkProfile(made ingest.Result) error {
	if len(made.ProfileFault) > MaxReason || !utf8.ValidString(made.ProfileFault) {
		return fmt.Errorf("a fault of %d bytes", len(made.ProfileFault))
	}
	if made.Profile == nil {
		return nil
	}
	if made.Profile.Rows != made.Rows || len(made.Profile.Columns) != len(made.Columns) {
		return fmt.Errorf("a profile of %d rows and %d columns", made.Profile.Rows, len(made.Profile.Columns))
	}
	for i, c := range made.Profile.Columns {
		if c.Name != made.Columns[i].Name || c.Type != made.Columns[i].Type {
			return fmt.Errorf("the profile of a column %.200q of type %.200q", c.Name, c.Type)
		}
		if err := checkColumnProfile(c, made.Rows); err != nil {
			return fmt.Errorf("the profile of the column %.200q: %w", c.Name, err)
		}
	}
	return nil
}

func checkColumnProfile(c domain.ColumnProfile, rows int64) error {
	isCount := func(n int64) bool { return n >= 0 && n <= rows }
	texts := []string{c.Unit}
	for _, text := range []*string{c.Min, c.Max} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	for _, v := range c.Top {
		texts = append(texts, v.Value)
		if !isCount(v.Count) {
			return fmt.Errorf("the count %d", v.Count)
		}
	}
	for _, text := range texts {
		if utf8.RuneCountInString(text) > domain.MaxProfileValue || !utf8.ValidString(text) {
			return fmt.Errorf("the text %.200q", text)
		}
	}
	if h := c.Histogram; h != nil {
		if len(h.Counts) > domain.HistogramBins || h.To < h.From || math.IsInf(h.To-h.From, 0) {
			return fmt.Errorf("%d bins from %g to %g", len(h.Counts), h.From, h.To)
		}
		for _, count := range h.Counts {
			if !isCount(count) {
				return fmt.Errorf("the count %d", count)
			}
		}
	}
	for _, rank := range c.Sketch {
		if rank > domain.MaxRank {
			return fmt.Errorf("the rank %d", rank)
		}
	}
	switch {
	case !isCount(c.Missing), !isCount(c.Distinct), len(c.Top) > domain.MaxTop:
		return fmt.Errorf("%d missing, %d different, %d counted", c.Missing, c.Distinct, len(c.Top))
	case len(c.Sketch) != 0 && len(c.Sketch) != domain.SketchSize:
		return fmt.Errorf("a sketch of %d bytes", len(c.Sketch))
	case c.Length != nil && (c.Length.Min < 0 || c.Length.Max < c.Length.Min):
		return fmt.Errorf("lengths from %d to %d", c.Length.Min, c.Length.Max)
	}
	return nil
}
