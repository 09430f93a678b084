package lake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/internal/sqltext"
	"parley/storage"
)

const (
	// measureTimeout limits the time to measure a link; the worker limits the memory.
	measureTimeout = 10 * time.Second
	// maxMeasures limits the remembered measures.
	maxMeasures = 10_000
)

// measures remembers what was measured, by the versions of datasets and their columns. It
// is safe for concurrent use: what it tells is for callers who may read these datasets.
type measures struct {
	mu    sync.Mutex
	known map[string]*storage.LinkMeasure
}

// get gives a measure, nil for one that takes too much time or memory. It reports whether it
// is known.
func (m *measures) get(key string) (*storage.LinkMeasure, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	measure, ok := m.known[key]
	return measure, ok
}

func (m *measures) put(key string, measure *storage.LinkMeasure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMeasures {
		m.known = map[string]*storage.LinkMeasure{}
	}
	m.known[key] = measure
}

// linkMeter measures links between datasets that a caller may read.
type linkMeter struct {
	*Datasets
	caller storage.Caller
	all    []storage.DatasetData
	tables []Table
	source Source
}

func (d *Datasets) linkMeter(caller storage.Caller, all []storage.DatasetData) linkMeter {
	m := linkMeter{Datasets: d, caller: caller, all: all}
	m.tables, m.source = d.tables(all)
	return m
}

// IsUnique reports whether no two rows of a dataset have the same values in some columns;
// rows with a missing value do not count. all has the datasets that [Datasets.Datasets] gave
// the caller shortly before. False also when that takes too much time or memory. It is
// measured once for each version.
func (d *Datasets) IsUnique(ctx context.Context, caller storage.Caller, all []storage.DatasetData, dataset string, columns []string) (bool, error) {
	measure, err := d.linkMeter(caller, all).measure(ctx, storage.Link{From: dataset, Columns: columns, To: dataset, ToColumns: columns})
	if err != nil || measure == nil {
		return false, err
	}
	return measure.Cardinality == storage.OneToOne, nil
}

// measure measures a link; nil when that takes too much time or memory. A dataset or column
// that does not exist is ErrInvalid.
func (m linkMeter) measure(ctx context.Context, l storage.Link) (*storage.LinkMeasure, error) {
	from, columns, err := m.find(l.From, l.Columns)
	if err != nil {
		return nil, err
	}
	to, toColumns, err := m.find(l.To, l.ToColumns)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s/%d %q %s/%d %q", from.ID, from.Version, columns, to.ID, to.Version, toColumns)
	if known, ok := m.measures.get(key); ok {
		return known, nil
	}
	var measured *storage.LinkMeasure
	result, err := m.config.Pool.Query(ctx, Query{
		SQL:    measureSQL(from.Name, columns, to.Name, toColumns),
		Tables: m.tables, Source: m.source, Timeout: measureTimeout, User: m.caller.Username,
	})
	switch {
	case errors.Is(err, storage.ErrInvalid):
	case err != nil:
		return nil, fmt.Errorf("measure a link: %w", err)
	default:
		if measured, err = readMeasure(result.Rows); err != nil {
			return nil, err
		}
	}
	m.measures.put(key, measured)
	return measured, nil
}

// find gives a dataset and some columns of it.
func (m linkMeter) find(dataset string, names []string) (storage.DatasetData, []storage.Column, error) {
	for _, data := range m.all {
		if !strings.EqualFold(data.Name, dataset) {
			continue
		}
		columns, missing := storage.FindColumns(data.Columns, names)
		if missing != "" {
			return data, nil, storage.Errorf(storage.ErrInvalid, "`%s` is not a column of %s", storage.Truncate(missing, 100), data.Name)
		}
		return data, columns, nil
	}
	return storage.DatasetData{}, nil, storage.Errorf(storage.ErrInvalid, "`%.128s` is not a dataset of this namespace", dataset)
}

// measureSQL counts the different values of both sides, and joins these, so that nothing is
// multiplied.
func measureSQL(from string, columns []storage.Column, to string, toColumns []storage.Column) string {
	side := func(dataset string, own, other []storage.Column) string {
		exprs, filled := make([]string, len(own)), make([]string, len(own))
		for i, c := range own {
			exprs[i] = fmt.Sprintf("%s AS k%d", linkValue(c, other[i]), i)
			filled[i] = sqltext.Name(c.Name) + " IS NOT NULL"
		}
		return fmt.Sprintf("SELECT %s, count(*) AS n FROM %s WHERE %s GROUP BY ALL", strings.Join(exprs, ", "), sqltext.Name(dataset), strings.Join(filled, " AND "))
	}
	on := make([]string, len(columns))
	for i := range columns {
		on[i] = fmt.Sprintf("s.k%d = t.k%d", i, i)
	}
	return fmt.Sprintf(`WITH s AS (%s), t AS (%s)
SELECT CAST(coalesce(sum(s.n), 0) AS BIGINT) AS r, CAST(coalesce(sum(s.n) FILTER (WHERE t.n IS NULL), 0) AS BIGINT) AS o,
count(*) AS v, count(*) FILTER (WHERE t.n IS NULL) AS ov,
coalesce(max(s.n), 0) > 1 AS mf, (SELECT coalesce(max(n), 0) FROM t) > 1 AS mt
FROM s LEFT JOIN t ON %s`, side(from, columns, toColumns), side(to, toColumns, columns), strings.Join(on, " AND "))
}

// linkValue gives the SQL for a column's values as they are compared with those of another:
// as they are where both have an order in common, as texts where not.
func linkValue(c, other storage.Column) string {
	name := sqltext.Name(c.Name)
	kind := storage.KindOf(c.Type)
	if c.Type == other.Type || kind == storage.KindOf(other.Type) && (kind == storage.KindNumber || kind == storage.KindTime) {
		return name
	}
	return "CAST(" + name + " AS VARCHAR)"
}

func readMeasure(rows []json.RawMessage) (*storage.LinkMeasure, error) {
	if len(rows) != 1 {
		return nil, fmt.Errorf("measure a link: %d rows", len(rows))
	}
	var row struct {
		R, O, V, OV int64
		MF, MT      bool
	}
	if err := json.Unmarshal(rows[0], &row); err != nil {
		return nil, fmt.Errorf("measure a link: %w", err)
	}
	return &storage.LinkMeasure{
		Cardinality: storage.CardinalityOf(row.MF, row.MT),
		Rows:        row.R, Orphans: row.O, Values: row.V, OrphanValues: row.OV,
	}, nil
}
