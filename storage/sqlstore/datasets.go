package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/profile"
)

// maxDatasets limits the datasets of a namespace.
const maxDatasets = 1000

// datasetRow is a dataset as its reader sees it.
type datasetRow struct {
	domain.Dataset
	DisplayName       *string
	Description       *string
	FieldDescriptions jsonText[map[string]string]
	Columns           jsonText[[]domain.Column]
	domain.Access
}

// column is the form of a column in dataset_versions.columns.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (r datasetRow) dataset() domain.Dataset {
	d := r.Dataset
	d.Access, d.Columns = r.Access, r.Columns.value
	d.Definition = domain.Definition{DisplayName: r.DisplayName, Description: r.Description, Schema: r.FieldDescriptions.value}
	return d
}

// storedFields returns the stored form of field descriptions; NULL for none.
func storedFields(schema map[string]string) sql.Null[jsonText[map[string]string]] {
	return sql.Null[jsonText[map[string]string]]{V: jsonText[map[string]string]{schema}, Valid: schema != nil}
}

// CreateDataset makes an empty dataset in the caller's own namespace, and the namespace
// if need be. ErrConflict when it exists.
func (s *Store) CreateDataset(ctx context.Context, caller domain.Caller, namespace, name string, definition domain.Definition) error {
	return s.inOwnerTx(ctx, "create dataset", caller.Username, func(tx *transaction) error {
		_, err := s.createDataset(ctx, tx, caller, namespace, name, definition)
		return err
	})
}

func (s *Store) createDataset(ctx context.Context, tx *transaction, caller domain.Caller, namespace, name string, definition domain.Definition) (id string, err error) {
	if err := mayCreateIn(ctx, tx, caller, namespace); err != nil {
		return "", err
	}
	// The update changes nothing: it is what RETURNING needs.
	var namespaceID string
	err = tx.GetContext(ctx, &namespaceID, `
INSERT INTO namespaces (id, owner, name, created_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (owner, lower(name)) DO UPDATE SET owner = excluded.owner
RETURNING id`, domain.NewID(), caller.Username, namespace, s.millis())
	if err != nil {
		return "", err
	}
	var count int
	if err := tx.GetContext(ctx, &count, `SELECT COUNT(*) FROM datasets WHERE namespace_id = $1`, namespaceID); err != nil {
		return "", err
	}
	if count >= maxDatasets {
		return "", tooManyDatasets(count)
	}
	id = domain.NewID()
	_, err = exec(ctx, tx, `
INSERT INTO datasets (id, namespace_id, name, display_name, description, field_descriptions, version, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, 1, $7, $7)`,
		id, namespaceID, name, definition.DisplayName, definition.Description, storedFields(definition.Schema), s.millis())
	if err != nil {
		return "", nameTaken(err, "dataset", name)
	}
	return id, s.addVersion(ctx, tx, id, 1, nil)
}

func tooManyDatasets(count int) error {
	return domain.Errorf(domain.ErrTooMany, "this namespace has %d datasets, of at most %d; use another one", count, maxDatasets)
}

// MayCreateDataset is ErrForbidden when the caller's token may not create a dataset in a
// namespace of the caller's own.
func (s *Store) MayCreateDataset(ctx context.Context, caller domain.Caller, namespace string) error {
	return classify(mayCreateIn(ctx, s, caller, namespace))
}

// describedBytes is the size of what describes dataset d in version v.
const describedBytes = `octet_length(v.columns) + COALESCE(octet_length(d.description), 0) + COALESCE(octet_length(d.field_descriptions), 0)`

var (
	selectDataset = parse(`
SELECT n.owner, n.name AS namespace, d.name, d.display_name, d.description, d.field_descriptions, v.columns, ` + visibleRowCount + `,` + datasetAccess + fromDatasets + namedDataset)
	// The bytes of a dataset and of those before it decide whether it is in the list.
	describeDatasets = parse(`
SELECT n.owner, n.name AS namespace, d.name, d.display_name, d.description, d.field_descriptions, v.columns, ` + visibleRowCount + `,` + datasetAccess + fromDatasets + namedNamespace + `
	AND d.id IN (
		SELECT x.id
		FROM (SELECT d.id, SUM(` + describedBytes + `) OVER (ORDER BY d.id) AS total` + fromDatasets + namedNamespace + `) x
		WHERE x.total <= :max_bytes)`)
	datasetList           = `SELECT n.owner, n.name AS namespace, d.name, ` + visibleRowCount + fromDatasets
	listDatasets          = parse(datasetList + ` AND ` + candidateDatasets)
	listNamespaceDatasets = parse(datasetList + ` AND n.id = :namespace_id`)
)

// Dataset is for those who may read it.
func (s *Store) Dataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.Dataset, error) {
	var row datasetRow
	err := selectDataset.get(ctx, s, &row, ofDataset(caller, ref))
	return row.dataset(), wrap("read dataset", err)
}

// Datasets lists those that the caller may read, by owner, namespace and name, without
// their definitions and columns.
func (s *Store) Datasets(ctx context.Context, caller domain.Caller) ([]domain.Dataset, error) {
	return s.listDatasets(ctx, listDatasets, by(caller, nil))
}

// NamespaceDatasets is Datasets for one namespace. ErrNotFound when the caller may not see
// the namespace.
func (s *Store) NamespaceDatasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.Dataset, error) {
	found, err := findNamespace(ctx, s, caller, ref)
	if err != nil {
		return nil, wrap("find namespace", err)
	}
	return s.listDatasets(ctx, listNamespaceDatasets, by(caller, args{"namespace_id": found.ID}))
}

// DescribedDatasets returns datasets of a namespace that the caller may read, with their
// definitions, columns and access, in no order: the first ones whose texts are not larger
// than maxBytes together.
func (s *Store) DescribedDatasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, maxBytes int) ([]domain.Dataset, error) {
	a := inNamespace(caller, ref)
	a["max_bytes"] = maxBytes
	var rows []datasetRow
	err := describeDatasets.list(ctx, s, &rows, a)
	return each(rows, datasetRow.dataset), wrap("describe datasets", err)
}

func (s *Store) listDatasets(ctx context.Context, query *statement, a args) ([]domain.Dataset, error) {
	datasets := []domain.Dataset{}
	if err := query.list(ctx, s, &datasets, a); err != nil {
		return nil, wrap("list datasets", err)
	}
	slices.SortFunc(datasets, func(a, b domain.Dataset) int {
		return cmp.Or(strings.Compare(a.Owner, b.Owner), compareNames(a.Namespace, b.Namespace), compareNames(a.Name, b.Name))
	})
	return datasets, nil
}

// UpdateDefinition is for the owner and editors; to all others, readers among them, the
// dataset is not found. Each part is written only when it is set, so that two who set
// different parts at once both succeed.
func (s *Store) UpdateDefinition(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, patch domain.DefinitionPatch) error {
	return s.inOwnerTx(ctx, "update definition", ref.Owner, func(tx *transaction) error {
		found, err := findDataset(ctx, tx, caller, ref)
		if err == nil && found.Role == domain.Viewer {
			err = domain.ErrNotFound
		}
		if found, err = editable(found, err); err != nil {
			return err
		}
		return s.updateDefinition(ctx, tx, found.ID, patch)
	})
}

func (s *Store) updateDefinition(ctx context.Context, tx *transaction, id string, patch domain.DefinitionPatch) error {
	if patch.IsEmpty() {
		return nil
	}
	return execOne(ctx, tx, `
UPDATE datasets
SET description = CASE WHEN $2 THEN $3 ELSE description END,
	field_descriptions = CASE WHEN $4 THEN $5 ELSE field_descriptions END,
	display_name = CASE WHEN $6 THEN $7 ELSE display_name END,
	updated_at = $8
WHERE id = $1`, id, patch.SetDescription, patch.Description, patch.SetSchema, storedFields(patch.Schema), patch.SetDisplayName, patch.DisplayName, s.millis())
}

// ClearDataset drops the rows and columns, for the owner and editors.
func (s *Store) ClearDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) error {
	return s.inOwnerTx(ctx, "clear dataset", ref.Owner, func(tx *transaction) error {
		found, err := editable(findDataset(ctx, tx, caller, ref))
		if err != nil {
			return err
		}
		version, err := s.nextVersion(ctx, tx, found.ID)
		if err != nil {
			return err
		}
		if err := s.dropFiles(ctx, tx, found.ID); err != nil {
			return err
		}
		return s.addVersion(ctx, tx, found.ID, version, nil)
	})
}

// RenameDataset is for the owner and editors of its namespace: others would learn which names
// are taken by datasets that they may not see. ErrConflict when the name is taken.
func (s *Store) RenameDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, name string) error {
	return s.inOwnerTx(ctx, "rename dataset", ref.Owner, func(tx *transaction) error {
		found, err := findDataset(ctx, tx, caller, ref)
		if err != nil {
			return err
		}
		if _, err := editableNamespace(findNamespace(ctx, tx, caller, domain.NamespaceRef{Owner: ref.Owner, Name: ref.Namespace})); err != nil {
			return err
		}
		if err := found.MayEdit(); err != nil { // who sees some rows only is no editor
			return err
		}
		err = execOne(ctx, tx, `UPDATE datasets SET name = $2, updated_at = $3 WHERE id = $1`, found.ID, name, s.millis())
		return nameTaken(err, "dataset", name)
	})
}

// DeleteDataset is for the owner: rows, definition and grants go too.
func (s *Store) DeleteDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) error {
	return s.inOwnerTx(ctx, "delete dataset", ref.Owner, func(tx *transaction) error {
		found, err := writable(owned(findDataset(ctx, tx, caller, ref)))
		if err != nil {
			return err
		}
		return s.deleteDataset(ctx, tx, found.ID)
	})
}

// deleteDataset removes a dataset with all that belongs to it.
func (s *Store) deleteDataset(ctx context.Context, tx *transaction, id string) error {
	// Incrementing the version keeps a commit from adding files meanwhile.
	if _, err := s.nextVersion(ctx, tx, id); err != nil {
		return err
	}
	if err := s.dropFiles(ctx, tx, id); err != nil {
		return err
	}
	return execOne(ctx, tx, `DELETE FROM datasets WHERE id = $1`, id)
}

var selectProfile = parse(`SELECT d.version, v.columns, ` + visibleRowCount + `, v.profile` + fromDatasets + namedDataset)

// Profile returns the profile of a dataset's current version, for those who may read it. For who
// may see some rows only, nothing of the values is known.
func (s *Store) Profile(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error) {
	var row struct {
		Version  int64
		Columns  jsonText[[]domain.Column]
		RowCount int64
		Profile  jsonText[*domain.Profile]
	}
	if err := selectProfile.get(ctx, s, &row, ofDataset(caller, ref)); err != nil {
		return domain.DatasetProfile{}, wrap("read profile", err)
	}
	found := domain.DatasetProfile{Version: row.Version, RowCount: row.RowCount}
	if row.RowCount < 0 {
		found.Version = 0 // which would grow with rows that the caller does not see
	}
	if row.Profile.value != nil && row.RowCount < 0 {
		for _, c := range row.Profile.value.Columns {
			found.Columns = append(found.Columns, domain.ColumnProfile{Name: c.Name, Type: c.Type, Unit: c.Unit})
		}
		return found, nil
	}
	if row.Profile.value != nil {
		found.Known, found.Columns = true, row.Profile.value.Columns
		return found, nil
	}
	for _, c := range row.Columns.value {
		found.Columns = append(found.Columns, domain.ColumnProfile{Name: c.Name, Type: c.Type})
	}
	return found, nil
}

// addProfile records the profile of a version, made of that of the version before and of
// what was added. Only that of the last version is stored.
func (s *Store) addProfile(ctx context.Context, tx *transaction, change domain.VersionChange, version int64) error {
	next, err := nextProfile(ctx, tx, change, version)
	if err != nil {
		return err
	}
	if next != nil {
		_, err := exec(ctx, tx, `UPDATE dataset_versions SET profile = $3 WHERE dataset_id = $1 AND version = $2`,
			change.DatasetID, version, jsonText[domain.Profile]{next.Fit()})
		if err != nil {
			return fmt.Errorf("record profile: %w", err)
		}
	}
	_, err = exec(ctx, tx, `UPDATE dataset_versions SET profile = '' WHERE dataset_id = $1 AND version < $2 AND profile <> ''`, change.DatasetID, version)
	return err
}

// nextProfile returns the profile of a version; nil when it is not known.
func nextProfile(ctx context.Context, tx *transaction, change domain.VersionChange, version int64) (*domain.Profile, error) {
	if change.Replace {
		return change.Profile, nil
	}
	var before struct {
		RowCount int64
		Profile  jsonText[*domain.Profile]
	}
	err := tx.GetContext(ctx, &before, `SELECT row_count, profile FROM dataset_versions WHERE dataset_id = $1 AND version = $2`, change.DatasetID, version-1)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	switch known := before.Profile.value; {
	case len(change.Drop) > 0:
		return known, nil // the same rows in another file
	case before.RowCount == 0:
		return change.Profile, nil
	case known == nil || change.Profile == nil:
		return nil, nil
	default:
		if err := profile.CheckUnits(*known, *change.Profile); err != nil {
			return nil, err
		}
		merged := profile.Merge(*known, *change.Profile, change.Columns)
		return &merged, nil
	}
}
