package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/internal/sqltext"
)

const (
	// measureTimeout limits the time to measure a link; the worker limits the memory. It is
	// less than those below, so that no link uses up all of their time again and again.
	measureTimeout = 4 * time.Second
	// remeasureAfter is how long a link is not measured again that took too much.
	remeasureAfter = 10 * time.Minute
	// linksTimeout limits the time to measure all links of a dataset, namespaceLinksTimeout
	// that of a namespace, for which a question waits.
	linksTimeout          = 15 * time.Second
	namespaceLinksTimeout = 5 * time.Second
	// maxSuggesting is how many datasets a namespace has at most for links to be suggested
	// between all of them.
	maxSuggesting = 60
	// maxCachedLinks limits the entries of each cache.
	maxCachedLinks = 10_000
)

// linkCache has measures and suggestions. Its keys name versions of datasets, and what it
// tells is for those who may read them.
type linkCache struct {
	measures  *lru.Cache[string, knownMeasure]
	suggested *lru.Cache[string, []domain.MeasuredLink]
}

func newLinkCache() linkCache {
	return linkCache{lru.New[string, knownMeasure](maxCachedLinks), lru.New[string, []domain.MeasuredLink](maxCachedLinks)}
}

// knownMeasure is a measure, or nil until a time, for one that took too much.
type knownMeasure struct {
	*domain.LinkMeasure
	until time.Time
}

// Links returns the links of a dataset that its users have declared, and others that names and
// values of columns suggest, for those who may read it. Measures that take too long, or
// cannot be made now, are missing.
func (d *Datasets) Links(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (declared, suggested []domain.MeasuredLink, err error) {
	in := domain.NamespaceRef{Owner: ref.Owner, Name: ref.Namespace}
	all, err := d.config.Records.NamespaceData(ctx, caller, in)
	if err != nil {
		return nil, nil, err
	}
	m := d.linkMeter(caller, all)
	if err := m.readDeclared(ctx, in); err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(m.all, func(data domain.DatasetData) bool { return strings.EqualFold(data.Name, ref.Name) })
	if at < 0 {
		return nil, nil, domain.ErrNotFound
	}
	return m.linksOf(ctx, m.all[at:at+1], linksTimeout)
}

// LinksBetween returns the usable links between datasets that [Datasets.Datasets] returned to the caller
// shortly before, of a namespace, which may be missing, and attachments. Those that users have
// declared are first.
func (d *Datasets) LinksBetween(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, all []domain.DatasetData) ([]domain.MeasuredLink, error) {
	m := d.linkMeter(caller, all)
	if in != (domain.NamespaceRef{}) {
		if err := m.readDeclared(ctx, in); err != nil {
			return nil, err
		}
	}
	m.declaredOnly = len(m.all) > maxSuggesting
	declared, suggested, err := m.linksOf(ctx, m.all, namespaceLinksTimeout)
	if err != nil {
		return nil, err
	}
	usable := slices.DeleteFunc(declared, func(l domain.MeasuredLink) bool { return l.Problem != "" })
	return append(usable, suggested...), nil
}

// linksOf returns the links of datasets. It measures the declared ones of all before it looks for
// others, and nothing after a time.
func (m linkMeter) linksOf(ctx context.Context, from []domain.DatasetData, timeout time.Duration) (declared, suggested []domain.MeasuredLink, err error) {
	inTime, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// taken has, by dataset, the columns in lower case that need no other link.
	taken := map[string]map[string]bool{}
	for _, data := range from {
		taken[data.Name] = map[string]bool{}
	}
	var failed []error
	for _, l := range m.declared {
		columns, ok := taken[l.From]
		if !ok {
			continue
		}
		link := domain.MeasuredLink{Link: m.asNamed(l), Declared: true}
		link.Measure, err = m.measure(inTime, l)
		var known *domain.Error
		switch {
		case errors.As(err, &known) && errors.Is(known, domain.ErrInvalid):
			link.Problem = known.Message
		case err != nil:
			failed = append(failed, err)
		}
		declared = append(declared, link)
		if len(l.Columns) == 1 {
			columns[strings.ToLower(l.Columns[0])] = true
		}
	}
	for _, data := range from {
		if m.declaredOnly {
			break
		}
		found, err := m.suggest(inTime, data, taken[data.Name])
		if err != nil {
			failed = append(failed, err)
		}
		suggested = append(suggested, found...)
	}
	// They are measured when somebody asks again.
	if len(failed) > 0 && ctx.Err() == nil {
		m.config.Log.WarnContext(ctx, "links not measured", "count", len(failed), "error", failed[0])
	}
	return declared, suggested, ctx.Err()
}

// asNamed returns a link with the names that its columns have now.
func (m linkMeter) asNamed(l domain.Link) domain.Link {
	name := func(dataset string, names []string) []string {
		_, columns, err := m.find(dataset, names)
		if err != nil {
			return names
		}
		named := make([]string, len(columns))
		for i, c := range columns {
			named[i] = c.Name
		}
		return named
	}
	l.Columns, l.ToColumns = name(l.From, l.Columns), name(l.To, l.ToColumns)
	return l
}

// linkMeter measures links between datasets that a caller may read.
type linkMeter struct {
	*Datasets
	caller domain.Caller
	all    []domain.DatasetData
	tables []Table
	source Source
	// versions is a hash of those of all datasets.
	versions []byte
	// profiles has those that were read, by dataset.
	profiles map[string]columnProfiles
	// declared has the links between them that users have declared; declaredOnly says that
	// others are not looked for.
	declared     []domain.Link
	declaredOnly bool
}

// readDeclared reads the declared links of a namespace, without those of datasets that an
// attachment hides.
func (m *linkMeter) readDeclared(ctx context.Context, in domain.NamespaceRef) (err error) {
	m.declared, err = m.config.Records.NamespaceLinks(ctx, m.caller, in)
	for _, data := range m.all {
		if isAttachment(data) {
			m.declared = slices.DeleteFunc(m.declared, func(l domain.Link) bool {
				return strings.EqualFold(l.From, data.Name) || strings.EqualFold(l.To, data.Name)
			})
		}
	}
	return err
}

// isAttachment reports whether a dataset is in no namespace.
func isAttachment(data domain.DatasetData) bool { return data.Namespace == "" }

func (d *Datasets) linkMeter(caller domain.Caller, all []domain.DatasetData) linkMeter {
	m := linkMeter{Datasets: d, caller: caller, all: all, profiles: map[string]columnProfiles{}}
	m.tables, m.source = d.tables(all)
	versions := sha256.New()
	for _, table := range m.tables {
		_, _ = fmt.Fprintf(versions, "%s %s ", table.Name, table.Version)
	}
	m.versions = versions.Sum(nil)
	return m
}

// measure measures a link; nil when that takes too much time or memory. A dataset or column
// that does not exist is ErrInvalid.
func (m linkMeter) measure(ctx context.Context, l domain.Link) (*domain.LinkMeasure, error) {
	from, columns, err := m.find(l.From, l.Columns)
	if err != nil {
		return nil, err
	}
	to, toColumns, err := m.find(l.To, l.ToColumns)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %q %s %q", from.Contents(), columns, to.Contents(), toColumns)
	if known, ok := m.links.measures.Get(key); ok && (known.LinkMeasure != nil || time.Now().Before(known.until)) {
		return known.LinkMeasure, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("measure a link: %w", err)
	}
	var measured *domain.LinkMeasure
	result, err := m.config.Pool.Query(ctx, Query{
		SQL:    measureSQL(from.Name, columns, to.Name, toColumns),
		Tables: m.tables, Source: m.source, Timeout: measureTimeout, User: m.caller.Username,
	})
	switch {
	case errors.Is(err, domain.ErrInvalid):
	case err != nil:
		return nil, fmt.Errorf("measure a link: %w", err)
	default:
		if measured, err = readMeasure(result.Rows); err != nil {
			return nil, err
		}
	}
	m.links.measures.Put(key, knownMeasure{measured, time.Now().Add(remeasureAfter)}, 1)
	return measured, nil
}

// find returns a dataset and some columns of it.
func (m linkMeter) find(dataset string, names []string) (domain.DatasetData, []domain.Column, error) {
	for _, data := range m.all {
		if !strings.EqualFold(data.Name, dataset) {
			continue
		}
		columns, missing := domain.FindColumns(data.Columns, names)
		if missing != "" {
			return data, nil, domain.Errorf(domain.ErrInvalid, "`%s` is not a column of %s", domain.Truncate(missing, 100), data.Name)
		}
		return data, columns, nil
	}
	return domain.DatasetData{}, nil, domain.Errorf(domain.ErrInvalid, "`%.128s` is not a dataset of this namespace", dataset)
}

// measureSQL counts the different values of both sides, and joins these, so that nothing is
// multiplied.
func measureSQL(from string, columns []domain.Column, to string, toColumns []domain.Column) string {
	side := func(dataset string, own, other []domain.Column) string {
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
	// No dataset has a space in its name.
	return fmt.Sprintf(`WITH "from values" AS (%s), "to values" AS (%s)
SELECT CAST(coalesce(sum(s.n), 0) AS BIGINT) AS r, CAST(coalesce(sum(s.n) FILTER (WHERE t.n IS NULL), 0) AS BIGINT) AS o,
count(*) AS v, count(*) FILTER (WHERE t.n IS NULL) AS ov,
coalesce(max(s.n), 0) > 1 AS mf, (SELECT coalesce(max(n), 0) FROM "to values") > 1 AS mt
FROM "from values" AS s LEFT JOIN "to values" AS t ON %s`, side(from, columns, toColumns), side(to, toColumns, columns), strings.Join(on, " AND "))
}

// linkValue returns the SQL for a column's values as they are compared with those of another:
// as they are where both have an order in common, as texts where not.
func linkValue(c, other domain.Column) string {
	name := sqltext.Name(c.Name)
	kind := domain.KindOf(c.Type)
	if c.Type == other.Type || kind == domain.KindOf(other.Type) && (kind == domain.KindNumber || kind == domain.KindTime) {
		return name
	}
	return "CAST(" + name + " AS VARCHAR)"
}

func readMeasure(rows []json.RawMessage) (*domain.LinkMeasure, error) {
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
	return &domain.LinkMeasure{
		Cardinality: domain.CardinalityOf(row.MF, row.MT),
		Rows:        row.R, Orphans: row.O, Values: row.V, OrphanValues: row.OV,
	}, nil
}
