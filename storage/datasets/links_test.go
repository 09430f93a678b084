package datasets

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// linkSetup has datasets of tables for ann, in real files and workers.
type linkSetup struct {
	*Datasets
	records *linkRecords
	all     []domain.DatasetData
}

var (
	ann  = domain.Caller{Username: "ann"}
	shop = domain.NamespaceRef{Owner: "ann", Name: "shop"}
)

// linkRecords are records of ann's datasets, their profiles and links.
type linkRecords struct {
	fewRecords
	profiles map[string]domain.DatasetProfile
	declared []domain.Link
	// onProfile, where there is one, is called before a profile is given.
	onProfile func()
}

func (r *linkRecords) Profile(_ context.Context, _ domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error) {
	if r.onProfile != nil {
		r.onProfile()
	}
	return r.profiles[ref.Name], nil
}

func (r *linkRecords) NamespaceLinks(context.Context, domain.Caller, domain.NamespaceRef) ([]domain.Link, error) {
	return r.declared, nil
}

// profileOfFile computes a profile as an ingestion does.
func profileOfFile(t *testing.T, table Table) domain.DatasetProfile {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	profile, err := ingest.Profile(t.Context(), db, []ingest.File{{Path: table.Files[0], Rows: table.RowCount}}, table.Columns)
	if err != nil {
		t.Fatal(err)
	}
	return domain.DatasetProfile{Version: 1, RowCount: profile.Rows, Known: true, Columns: profile.Columns}
}

// newLinkSetup makes datasets of queries, by name.
func newLinkSetup(t *testing.T, queries [][2]string) *linkSetup {
	t.Helper()
	return newLinkSetupIn(t, newSetup(t, nil), queries)
}

func newLinkSetupIn(t *testing.T, s *setup, queries [][2]string) *linkSetup {
	t.Helper()
	records := &linkRecords{profiles: map[string]domain.DatasetProfile{}}
	var all []domain.DatasetData
	for _, q := range queries {
		table := parquetTable(t, s.dir, q[0], q[1])
		all = append(all, domain.DatasetData{
			ID: table.Name, Version: 1,
			Dataset: domain.Dataset{Owner: "ann", Namespace: "shop", Name: table.Name, Columns: table.Columns, RowCount: table.RowCount},
			Files:   []domain.DataFile{{Key: table.Files[0]}},
		})
		records.profiles[table.Name] = profileOfFile(t, table)
	}
	records.all = all
	datasets, err := NewDatasets(Config{Records: records, Objects: pathObjects{}, Pool: s.pool, Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &linkSetup{datasets, records, all}
}

// Orders refer to customers by number, twice to some, and one to a customer who does not
// exist. Visits have the same customer and day twice.
var linkTables = [][2]string{
	{"customers", `SELECT i AS id, 'C' || i AS code, CAST(i AS VARCHAR) AS number FROM range(100) r(i)`},
	{"orders", `SELECT i AS id, CAST(CASE WHEN i = 7 THEN 1000 WHEN i % 10 = 0 THEN NULL ELSE i % 50 END AS INTEGER) AS customer_id, i AS "odd ""name" FROM range(200) r(i)`},
	{"visits", `SELECT i % 3 AS customer, DATE '2024-01-01' + CAST(i % 4 AS INTEGER) AS day, [i] AS list FROM range(12) r(i) UNION ALL SELECT 0, DATE '2024-01-01', [1]`},
	{"days", `SELECT customer, CAST(day AS TIMESTAMP) AS at FROM (SELECT i % 3 AS customer, DATE '2024-01-01' + CAST(i % 4 AS INTEGER) AS day FROM range(12) r(i)) WHERE customer < 2`},
	{"empty", `SELECT 1 AS id WHERE false`},
	// Names that SQL is likely to use.
	{"s", `SELECT i % 5 AS n, 'C' || i % 4 AS k0 FROM range(20) r(i)`},
	{"t", `SELECT i AS n, 'C' || i AS k0 FROM range(5) r(i)`},
}

func TestMeasureLink(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, linkTables)
	meter := s.linkMeter(ann, s.all)
	for name, test := range map[string]struct {
		link domain.Link
		want domain.LinkMeasure
	}{
		"many to one, with an orphan": {
			domain.Link{From: "ORDERS", Columns: []string{"Customer_ID"}, To: "customers", ToColumns: []string{"id"}},
			domain.LinkMeasure{Cardinality: domain.ManyToOne, Rows: 180, Orphans: 1, Values: 46, OrphanValues: 1},
		},
		"one to many": {
			domain.Link{From: "customers", Columns: []string{"id"}, To: "orders", ToColumns: []string{"customer_id"}},
			domain.LinkMeasure{Cardinality: domain.OneToMany, Rows: 100, Orphans: 55, Values: 100, OrphanValues: 55},
		},
		"numbers in texts": {
			domain.Link{From: "orders", Columns: []string{"customer_id"}, To: "customers", ToColumns: []string{"number"}},
			domain.LinkMeasure{Cardinality: domain.ManyToOne, Rows: 180, Orphans: 1, Values: 46, OrphanValues: 1},
		},
		"an odd name, within a dataset": {
			domain.Link{From: "orders", Columns: []string{`odd "name`}, To: "orders", ToColumns: []string{"id"}},
			domain.LinkMeasure{Cardinality: domain.OneToOne, Rows: 200, Values: 200},
		},
		"two columns, dates and times": {
			domain.Link{From: "visits", Columns: []string{"customer", "day"}, To: "days", ToColumns: []string{"customer", "at"}},
			domain.LinkMeasure{Cardinality: domain.ManyToOne, Rows: 13, Orphans: 4, Values: 12, OrphanValues: 4},
		},
		"lists": {
			domain.Link{From: "visits", Columns: []string{"list"}, To: "visits", ToColumns: []string{"list"}},
			domain.LinkMeasure{Cardinality: domain.ManyToMany, Rows: 13, Values: 12},
		},
		"datasets s and t": {
			domain.Link{From: "s", Columns: []string{"n"}, To: "t", ToColumns: []string{"n"}},
			domain.LinkMeasure{Cardinality: domain.ManyToOne, Rows: 20, Values: 5},
		},
		"datasets t and s": {
			domain.Link{From: "t", Columns: []string{"n", "k0"}, To: "s", ToColumns: []string{"n", "k0"}},
			domain.LinkMeasure{Cardinality: domain.OneToOne, Rows: 5, Orphans: 1, Values: 5, OrphanValues: 1},
		},
		"no rows": {
			domain.Link{From: "empty", Columns: []string{"id"}, To: "customers", ToColumns: []string{"id"}},
			domain.LinkMeasure{Cardinality: domain.OneToOne},
		},
	} {
		measure, err := meter.measure(t.Context(), test.link)
		if err != nil || measure == nil || *measure != test.want {
			t.Errorf("%s: got %+v, %v", name, measure, err)
		}
	}
	for _, wrong := range []domain.Link{
		{From: "orders", Columns: []string{"nothing"}, To: "customers", ToColumns: []string{"id"}},
		{From: "orders", Columns: []string{"id"}, To: "secrets", ToColumns: []string{"word"}},
	} {
		if measure, err := meter.measure(t.Context(), wrong); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %+v, %v", wrong, measure, err)
		}
	}
}

// A measure is made once for each version: without workers, it is still known.
func TestMeasuresAreKept(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, linkTables)
	link := domain.Link{From: "days", Columns: []string{"customer", "at"}, To: "visits", ToColumns: []string{"customer", "day"}}
	for range 2 {
		measure, err := s.linkMeter(ann, s.all).measure(t.Context(), link)
		if err != nil || measure.Cardinality != domain.OneToMany {
			t.Errorf("got %+v, %v", measure, err)
		}
		s.config.Pool.Close()
	}
	s.all[3].Version++
	if measure, err := s.linkMeter(ann, s.all).measure(t.Context(), link); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a new version: got %+v, %v", measure, err)
	}
}

// What does not fit into the memory of a worker is not measured, and not tried again.
func TestMeasureTooLarge(t *testing.T) {
	t.Parallel()
	small := newSetup(t, func(c *PoolConfig) { c.Memory = 64 << 20 })
	s := newLinkSetupIn(t, small, [][2]string{{"many", `SELECT 'a long text that takes much room ' || hash(i) AS code FROM range(2000000) r(i)`}})
	for range 2 {
		measure, err := s.linkMeter(ann, s.all).measure(t.Context(), domain.Link{From: "many", Columns: []string{"code"}, To: "many", ToColumns: []string{"code"}})
		if err != nil || measure != nil {
			t.Fatalf("got %+v, %v", measure, err)
		}
		s.config.Pool.Close()
	}
}
