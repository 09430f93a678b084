package datasets

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/internal/domain"
)

// fewRecords are records of a namespace that only ann may see. The rest of the
// records is for nobody.
type fewRecords struct {
	Records
	all []domain.DatasetData
}

func (r fewRecords) NamespaceData(_ context.Context, caller domain.Caller, _ domain.NamespaceRef) ([]domain.DatasetData, error) {
	if caller.Username != "ann" {
		return nil, domain.ErrNotFound
	}
	return r.all, nil
}

// pathObjects are files whose keys are their paths.
type pathObjects struct{ Objects }

func (pathObjects) Ready(files []domain.DataFile) (paths []string, release func(), ok bool) {
	for _, file := range files {
		paths = append(paths, file.Key)
	}
	return paths, func() {}, true
}

func (pathObjects) Verify(context.Context, []domain.DataFile) error { return nil }

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	var all []domain.DatasetData
	for _, table := range s.tables {
		all = append(all, domain.DatasetData{
			ID:      table.Name,
			Dataset: domain.Dataset{Name: table.Name, Columns: table.Columns, RowCount: table.RowCount},
			Files:   []domain.DataFile{{Key: table.Files[0]}},
		})
	}
	datasets, err := NewDatasets(Config{Records: fewRecords{all: all}, Objects: pathObjects{}, Pool: s.pool, Dir: t.TempDir(), MaxRows: 2})
	if err != nil {
		t.Fatal(err)
	}
	ann, in := domain.Caller{Username: "ann"}, domain.DataScope{Namespace: domain.NamespaceRef{Owner: "ann", Name: "shop"}}

	if got, err := datasets.Datasets(t.Context(), ann, in); err != nil || len(got) != len(all) {
		t.Errorf("Datasets gives %d, %v", len(got), err)
	}
	result, err := datasets.Search(t.Context(), ann, in, "NOTES", "cunning fox", 1)
	if err != nil || len(result.Rows) != 1 || !result.Truncated || result.SQL == "" || !strings.Contains(string(result.Rows[0]), "cunning") {
		t.Errorf("Search gives %+v, %v", result, err)
	}
	if result, err := datasets.Search(t.Context(), ann, in, "notes", "fox the crème nothing", 100); err != nil || len(result.Rows) != 2 || !result.Truncated {
		t.Errorf("Search past the bound gives %d rows, %v", len(result.Rows), err)
	}
	for _, dataset := range []string{"orders", "secrets"} {
		var words *domain.Error
		if _, err := datasets.Search(t.Context(), ann, in, dataset, "fox", 5); !errors.Is(err, domain.ErrInvalid) || !errors.As(err, &words) || !strings.Contains(words.Message, dataset) {
			t.Errorf("Search in %s: %v", dataset, err)
		}
	}
	if _, err := datasets.Search(t.Context(), domain.Caller{Username: "bob"}, in, "notes", "fox", 5); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("Search by another: %v", err)
	}
}
