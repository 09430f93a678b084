package rest

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"parley/internal/domain"
)

// shownTop is how many of the most frequent values are shown.
const shownTop = 10

type profileJSON struct {
	Version  int64               `json:"version"`
	RowCount int64               `json:"rowCount"`
	Columns  []columnProfileJSON `json:"columns"`
}

// columnProfileJSON has what is known of a column. Min, Max and values are numbers, for
// columns of numbers, or texts.
type columnProfileJSON struct {
	Name      string           `json:"name"`
	Type      string           `json:"type"`
	Unit      string           `json:"unit,omitempty"`
	Missing   *int64           `json:"missing,omitempty"`
	Distinct  *int64           `json:"distinct,omitempty"`
	Min       any              `json:"min,omitempty"`
	Max       any              `json:"max,omitempty"`
	Top       []valueCountJSON `json:"top,omitempty"`
	Histogram []binJSON        `json:"histogram,omitempty"`
	Length    *lengthsJSON     `json:"length,omitempty"`
}

type valueCountJSON struct {
	Value any   `json:"value"`
	Count int64 `json:"count"`
}

type binJSON struct {
	From  any   `json:"from"`
	To    any   `json:"to"`
	Count int64 `json:"count"`
}

type lengthsJSON struct {
	Min     int64   `json:"min"`
	Max     int64   `json:"max"`
	Average float64 `json:"average"`
}

func (s *Server) getProfile(r *request, ref domain.DatasetRef) (any, error) {
	profile, err := s.cfg.Store.Profile(r.ctx(), r.caller, ref)
	if err == nil && profile.RowCount < 0 {
		profile.RowCount, err = s.cfg.Datasets.VisibleRows(r.ctx(), r.caller, ref)
	}
	return profileJSON{
		Version: profile.Version, RowCount: profile.RowCount,
		Columns: toList(profile.Columns, func(c domain.ColumnProfile) columnProfileJSON { return toColumnProfile(c, profile.Known) }),
	}, err
}

func toColumnProfile(c domain.ColumnProfile, known bool) columnProfileJSON {
	column := columnProfileJSON{Name: c.Name, Type: toColumn(domain.Column{Type: c.Type}).Type, Unit: c.Unit}
	if !known {
		return column
	}
	column.Missing, column.Distinct = &c.Missing, &c.Distinct
	value := func(text string) any { return profileValue(c.Type, text) }
	if c.Min != nil && c.Max != nil {
		column.Min, column.Max = value(*c.Min), value(*c.Max)
	}
	column.Top = toList(c.Top[:min(len(c.Top), shownTop)], func(v domain.ValueCount) valueCountJSON {
		return valueCountJSON{value(v.Value), v.Count}
	})
	if h := c.Histogram; h != nil {
		for i, count := range h.Counts {
			from, to := h.Bin(i)
			to = max(to-domain.BinStep(c.Type), from) // the last of whole numbers and days
			column.Histogram = append(column.Histogram, binJSON{From: bound(c.Type, from), To: bound(c.Type, to), Count: count})
		}
	}
	if c.Length != nil {
		length := lengthsJSON(*c.Length)
		column.Length = &length
	}
	return column
}

// profileValue returns a value of a type as rows have it: numbers that are exact in a double as
// such, others as text.
func profileValue(typ, text string) any {
	switch {
	case domain.KindOf(typ) != domain.KindNumber, strings.HasPrefix(typ, "DECIMAL"):
		return text
	case typ != "DOUBLE" && typ != "FLOAT":
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n > 1<<53 || n < -1<<53 {
			return text
		}
		return json.Number(text)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return text
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return v
}

// bound returns the bound of a bin as a value of the column's type.
func bound(typ string, value float64) any {
	if domain.KindOf(typ) != domain.KindTime {
		return value
	}
	at := time.UnixMicro(int64(value * 1e6)).UTC()
	if typ == "DATE" {
		return at.Format(time.DateOnly)
	}
	return at.Format("2006-01-02 15:04:05")
}
