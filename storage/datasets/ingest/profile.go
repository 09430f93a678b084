package ingest

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"parley/internal/domain"
	"parley/internal/sqltext"
)

const (
	// profileColumns is how many columns a query profiles, so that memory is bounded.
	profileColumns = 40
	// topDistinct is how many different values a column may have to have its values counted:
	// they are held in memory.
	topDistinct = 50_000
	// longText is how many characters the texts of a column may have on average to be held in
	// memory.
	longText = 4096
	// alikeDistinct is how many different texts are compared without their case and blanks.
	alikeDistinct = 5000
	// MaxMembers is how many members the lists of a column may have to be counted in their place.
	MaxMembers = 5_000_000
	// wideColumns is from how many columns on a few of them are first copied to a file of
	// their own: each query that reads a file looks at all of its columns.
	wideColumns = 200
)

// Profile says what the columns of files of [Run] hold. It reads them a few times, and takes
// little memory.
func Profile(ctx context.Context, db *sql.DB, files []File, columns []domain.Column) (domain.Profile, error) {
	p := profiler{ctx: ctx, db: db}
	paths := make([]string, len(files))
	for i, file := range files {
		paths[i], p.dir = file.Path, filepath.Dir(file.Path)
		p.profile.Rows += file.Rows
	}
	p.from = fromFiles(paths)
	for _, c := range columns {
		column := domain.ColumnProfile{Name: c.Name, Type: c.Type, Missing: p.profile.Rows}
		if c.Type != typeNull {
			column.Sketch = make(domain.Sketch, domain.SketchSize)
		}
		p.profile.Columns = append(p.profile.Columns, column)
	}
	for first := 0; first < len(columns); first += profileColumns {
		chunk := p.profile.Columns[first:min(len(columns), first+profileColumns)]
		run := p.columns
		if len(columns) > wideColumns {
			run = p.copied
		}
		if err := errors.Join(run(chunk), p.members(chunk)); err != nil {
			return domain.Profile{}, fmt.Errorf("profile columns: %w", err)
		}
	}
	return p.profile, nil
}

// columns profiles columns. Texts, which take the most time, and the others are profiled at
// the same time: a query over few row groups uses one core.
func (p profiler) columns(columns []domain.ColumnProfile) error {
	if p.profile.Rows <= fewRows {
		return p.steps(columns, p.measureAll, p.count)
	}
	var parts [2][]domain.ColumnProfile
	var places [2][]int
	for i, c := range columns {
		part := 0
		if inMetadata(c) {
			part = 1
		}
		parts[part], places[part] = append(parts[part], c), append(places[part], i)
	}
	var errs [2]error
	var group sync.WaitGroup
	for i, part := range parts {
		group.Go(func() { errs[i] = p.steps(part, p.measure, p.spread, p.top) })
	}
	group.Wait()
	for i, part := range parts {
		for j, place := range places[i] {
			columns[place] = part[j]
		}
	}
	return errors.Join(errs[:]...)
}

// members counts the members of lists of texts in place of the lists.
func (p profiler) members(columns []domain.ColumnProfile) error {
	for i, c := range columns {
		if c.Type != typeVarchar+"[]" {
			continue
		}
		x, inner := sqltext.Name(c.Name), p
		inner.from = fmt.Sprintf(" FROM (SELECT unnest(%s) AS %s%s)", x, x, p.from)
		err := p.db.QueryRowContext(p.ctx, fmt.Sprintf("SELECT CAST(coalesce(sum(len(%s)), 0) AS BIGINT)%s", x, p.from)).Scan(&inner.profile.Rows)
		if err != nil {
			return err
		}
		if inner.profile.Rows > MaxMembers {
			continue
		}
		of := []domain.ColumnProfile{{Name: c.Name, Type: typeVarchar, Sketch: make(domain.Sketch, domain.SketchSize)}}
		if err := inner.columns(of); err != nil {
			return err
		}
		columns[i].Distinct, columns[i].Top, columns[i].Sketch = of[0].Distinct, of[0].Top, of[0].Sketch
	}
	return nil
}

func (p profiler) steps(columns []domain.ColumnProfile, steps ...func([]domain.ColumnProfile) error) error {
	for _, step := range steps {
		if err := step(columns); err != nil {
			return err
		}
	}
	return nil
}

// copied profiles columns in a file that has no others.
func (p profiler) copied(columns []domain.ColumnProfile) error {
	var names []string
	for _, c := range columns {
		if c.Type != typeNull {
			names = append(names, sqltext.Name(c.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	work, err := os.MkdirTemp(p.dir, ".ingest-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	path := filepath.Join(work, "columns.parquet")
	if _, err := p.db.ExecContext(p.ctx, fmt.Sprintf("COPY (SELECT %s%s) TO %s (FORMAT parquet)", strings.Join(names, ", "), p.from, sqltext.Text(path))); err != nil {
		return err
	}
	p.from = fromFiles([]string{path})
	return p.columns(columns)
}

type profiler struct {
	ctx context.Context
	db  *sql.DB
	// dir is where files of its own may be.
	dir     string
	from    string
	profile domain.Profile
}

// measured is what a query measures of a column.
type measured struct {
	values            int64
	min, max          sql.NullString
	from, to          sql.NullFloat64
	shortest, longest sql.NullInt64
	averageLength     sql.NullFloat64
	sketch            sql.NullString
}

// uncounted reports whether the number of different values of a column is to be estimated.
func (p *profiler) uncounted(c domain.ColumnProfile) bool {
	return p.profile.Rows > fewRows && c.Missing < p.profile.Rows && c.Distinct == 0
}

// estimate sets how many different values there are, from the bits of a sketch.
func (p *profiler) estimate(c *domain.ColumnProfile, found string) {
	for at, bit := range []byte(found) {
		if group, rank := at/domain.MaxRank, byte(at%domain.MaxRank+1); bit == '1' {
			c.Sketch[group] = max(c.Sketch[group], rank)
		}
	}
	c.Distinct = max(1, min(c.Sketch.Estimate(), p.profile.Rows-c.Missing))
}

// each runs queries as one and calls row with each of their rows.
func (p *profiler) each(selects []string, row func(*sql.Rows) error) error {
	if len(selects) == 0 {
		return nil
	}
	rows, err := p.db.QueryContext(p.ctx, strings.Join(selects, " UNION ALL "))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// measure reads texts and nested values in a query of their own: of the others, the files
// have what is asked for in their metadata.
func (p *profiler) measure(columns []domain.ColumnProfile) error {
	if err := p.measureThose(columns, inMetadata); err != nil {
		return err
	}
	return p.measureThose(columns, func(c domain.ColumnProfile) bool { return !inMetadata(c) })
}

// measureAll is measure in one query, for few rows.
func (p *profiler) measureAll(columns []domain.ColumnProfile) error {
	return p.measureThose(columns, func(domain.ColumnProfile) bool { return true })
}

func (p *profiler) measureThose(columns []domain.ColumnProfile, chosen func(domain.ColumnProfile) bool) error {
	var exprs []string
	var dest []any
	found := make([]measured, len(columns))
	for i, c := range columns {
		if c.Type == typeNull || !chosen(c) {
			continue
		}
		x, m := sqltext.Name(c.Name), &found[i]
		kind := domain.KindOf(c.Type)
		exprs = append(exprs, fmt.Sprintf("count(%s)", x))
		dest = append(dest, &m.values)
		if kind != domain.KindOther {
			exprs = append(exprs, shortText("min("+x+")"), shortText("max("+x+")"))
			dest = append(dest, &m.min, &m.max)
		}
		switch kind {
		case domain.KindNumber, domain.KindTime:
			exprs = append(exprs, number(c, "min("+x+")"), number(c, "max("+x+")"))
			dest = append(dest, &m.from, &m.to)
		case domain.KindText:
			exprs = append(exprs, "min(length("+x+"))", "max(length("+x+"))", "avg(length("+x+"))")
			dest = append(dest, &m.shortest, &m.longest, &m.averageLength)
		}
		if !inMetadata(c) && p.profile.Rows > fewRows {
			exprs, dest = append(exprs, sketch(c)), append(dest, &m.sketch)
		}
	}
	if len(exprs) == 0 {
		return nil
	}
	if err := p.db.QueryRowContext(p.ctx, "SELECT "+strings.Join(exprs, ", ")+p.from).Scan(dest...); err != nil {
		return err
	}
	for i := range columns {
		if columns[i].Type != typeNull && chosen(columns[i]) {
			found[i].fill(&columns[i], p.profile.Rows)
			if !inMetadata(columns[i]) && p.uncounted(columns[i]) {
				p.estimate(&columns[i], found[i].sketch.String)
			}
		}
	}
	return nil
}

// shortText returns the SQL for the beginning of a value as text.
func shortText(expr string) string {
	return fmt.Sprintf("left(CAST(%s AS VARCHAR), %d)", expr, domain.MaxProfileValue)
}

func (m *measured) fill(c *domain.ColumnProfile, rows int64) {
	c.Missing = rows - m.values
	if m.values == 0 {
		return
	}
	if m.min.Valid && m.max.Valid {
		c.Min, c.Max = &m.min.String, &m.max.String
	}
	if m.from.Valid && m.to.Valid && !math.IsInf(m.to.Float64-m.from.Float64, 0) {
		c.Histogram = &domain.Histogram{From: m.from.Float64, To: m.to.Float64}
	}
	c.Distinct = fewValues(*c)
	if c.Histogram != nil { // its bins may reach beyond the greatest value
		c.Histogram = domain.NewHistogram(c.Type, c.Histogram.From, c.Histogram.To)
	}
	if m.averageLength.Valid {
		c.Length = &domain.Lengths{Min: m.shortest.Int64, Max: m.longest.Int64, Average: m.averageLength.Float64}
	}
}

// fewValues returns how many different values there can be at most, where the range of whole
// numbers and days says that they are few enough to be counted; 0 otherwise.
func fewValues(c domain.ColumnProfile) int64 {
	var width float64
	switch {
	case c.Type == typeBoolean:
		return 2
	case c.Histogram == nil:
		return 0
	case c.Type == typeBigint:
		width = c.Histogram.To - c.Histogram.From + 1
	case c.Type == typeDate:
		width = (c.Histogram.To-c.Histogram.From)/(24*60*60) + 1
	}
	if width > topDistinct {
		return 0
	}
	return int64(width)
}

// spread counts the values of numbers and times in bins, and estimates how many different
// ones there are, of all columns in one query.
func (p *profiler) spread(columns []domain.ColumnProfile) error {
	var exprs []string
	var dest []any
	counts, found := make([]sql.NullString, len(columns)), make([]sql.NullString, len(columns))
	for i, c := range columns {
		if c.Histogram != nil {
			exprs, dest = append(exprs, bins(c)), append(dest, &counts[i])
		}
		if inMetadata(c) && p.uncounted(c) {
			exprs, dest = append(exprs, sketch(c)), append(dest, &found[i])
		}
	}
	if len(exprs) == 0 {
		return nil
	}
	if err := p.db.QueryRowContext(p.ctx, "SELECT "+strings.Join(exprs, ", ")+p.from).Scan(dest...); err != nil {
		return err
	}
	for i := range columns {
		c := &columns[i]
		if inMetadata(*c) && p.uncounted(*c) {
			p.estimate(c, found[i].String)
		}
		if c.Histogram == nil {
			continue
		}
		var bins []int64
		if err := json.Unmarshal([]byte(counts[i].String), &bins); err != nil {
			return fmt.Errorf("read a histogram: %w", err)
		}
		c.Histogram.Counts = bins[:min(len(bins), len(c.Histogram.Counts))]
	}
	return nil
}

// bins returns the SQL for how many values there are in each bin of a column's histogram.
func bins(c domain.ColumnProfile) string {
	bounds := make([]string, len(c.Histogram.Counts))
	for bin := range bounds {
		bounds[bin] = fmt.Sprintf("'%g'::DOUBLE", lastOf(c.Type, c.Histogram, bin))
	}
	return fmt.Sprintf("CAST(map_values(histogram(%s, [%s])) AS VARCHAR)", number(c, sqltext.Name(c.Name)), strings.Join(bounds, ", "))
}

func hasLongTexts(c domain.ColumnProfile) bool {
	return c.Length != nil && c.Length.Average > longText
}

// top counts the values of columns that have not too many different ones.
func (p *profiler) top(columns []domain.ColumnProfile) error {
	var selects []string
	for i, c := range columns {
		if kind := domain.KindOf(c.Type); kind == domain.KindOther || c.Missing == p.profile.Rows || c.Distinct > topDistinct || hasLongTexts(c) {
			continue
		}
		x := sqltext.Name(c.Name)
		folded := "0"
		if c.Type == typeVarchar && c.Distinct <= alikeDistinct {
			folded = "count(*) OVER () - (SELECT count(DISTINCT lower(trim(x))) FROM g)"
		}
		selects = append(selects, fmt.Sprintf("(WITH g AS MATERIALIZED (SELECT %s AS x, count(*) AS n%s WHERE %s IS NOT NULL GROUP BY x) SELECT %d AS at, %s AS v, n, count(*) OVER () AS d, %s FROM g ORDER BY n DESC, x LIMIT %d)",
			x, p.from, x, i, shortText("x"), folded, domain.MaxTop))
	}
	return p.each(selects, func(rows *sql.Rows) error {
		var at int
		var value domain.ValueCount
		var distinct, alike int64
		if err := rows.Scan(&at, &value.Value, &value.Count, &distinct, &alike); err != nil {
			return err
		}
		columns[at].Distinct, columns[at].Alike = distinct, alike
		columns[at].Top = append(columns[at].Top, value)
		return nil
	})
}

// fewRows is how many rows are counted value by value, which is faster than to ask for each
// column.
const fewRows = 1000

// count counts the values of all columns in one query, in which each row gives a value of each
// column. It fills the bins, too. Long texts have queries of their own: the list of values of a
// row would hold them all in memory.
func (p *profiler) count(columns []domain.ColumnProfile) error {
	var values, selects []string
	for i, c := range columns {
		if c.Missing == p.profile.Rows {
			continue
		}
		x := sqltext.Name(c.Name)
		if hasLongTexts(c) {
			selects = append(selects, fmt.Sprintf("SELECT %d, %s, %s, NULL::DOUBLE, count(*)%s WHERE %s IS NOT NULL GROUP BY ALL", i, hash(c), shortText(x), p.from, x))
			continue
		}
		values = append(values, fmt.Sprintf("{'at': %d, 'h': CASE WHEN %s IS NOT NULL THEN %s END, 'x': %s, 'n': %s}", i, x, hash(c), shortText(x), number(c, x)))
	}
	if len(values) > 0 {
		selects = append(selects, fmt.Sprintf("SELECT v.at, v.h, v.x, v.n, count(*) FROM (SELECT unnest([%s]) AS v%s) WHERE v.h IS NOT NULL GROUP BY ALL", strings.Join(values, ", "), p.from))
	}
	for i := range columns {
		columns[i].Distinct = 0
	}
	err := p.each(selects, func(rows *sql.Rows) error {
		var at int
		var h uint64
		var value domain.ValueCount
		var n sql.NullFloat64
		if err := rows.Scan(&at, &h, &value.Value, &n, &value.Count); err != nil {
			return err
		}
		c := &columns[at]
		c.Distinct++
		if c.Histogram != nil && n.Valid {
			addToBin(c, n.Float64, value.Count)
		}
		if h%domain.SketchSample == 0 {
			group, rank := h>>5%domain.SketchSize, byte(bits.TrailingZeros64(h>>13|1<<31)+1)
			c.Sketch[group] = max(c.Sketch[group], rank)
		}
		if domain.KindOf(c.Type) != domain.KindOther {
			c.Top = append(c.Top, value)
		}
		return nil
	})
	for i := range columns {
		c := &columns[i]
		if c.Type == typeVarchar {
			folded := map[string]bool{}
			for _, value := range c.Top {
				folded[strings.ToLower(strings.Trim(value.Value, " "))] = true
			}
			c.Alike = int64(len(c.Top) - len(folded))
		}
		slices.SortFunc(c.Top, func(a, b domain.ValueCount) int { return a.Compare(domain.KindOf(c.Type), b) })
		c.Top = slices.Clip(c.Top[:min(len(c.Top), domain.MaxTop)])
	}
	return err
}

// addToBin counts a value in the first bin whose greatest value is not below it.
func addToBin(c *domain.ColumnProfile, value float64, count int64) {
	counts := c.Histogram.Counts
	counts[sort.Search(len(counts)-1, func(bin int) bool { return value <= lastOf(c.Type, c.Histogram, bin) })] += count
}
