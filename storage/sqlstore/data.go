package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/internal/domain"
)

// orphanTTL is how long the files of an old version stay: far longer than a query that may
// read them.
const orphanTTL = 10 * time.Minute

// maxDescribed limits the bytes of the columns and descriptions of a namespace, which queries and
// questions read.
const maxDescribed = 8 << 20

// maxVersions is how many versions of a dataset are stored.
const maxVersions = 100

// dataRow is a dataset with one of its files, if it has any.
type dataRow struct {
	datasetRow
	ID      string
	Version int64
	FileID  sql.NullString
	Key     sql.NullString `db:"object_key"`
	Rows    sql.NullInt64  `db:"file_rows"`
	Bytes   sql.NullInt64  `db:"file_bytes"`
	SHA256  sql.NullString
	domain.Access
}

const dataColumns = `
	d.id, d.version, n.owner, n.name AS namespace, d.name, d.display_name, d.description, d.field_descriptions, v.columns, ` + visibleRowCount + `,
	f.id AS file_id, f.object_key, f.row_count AS file_rows, f.byte_count AS file_bytes, f.sha256,` + datasetAccess

// dataOf gathers the rows of each dataset.
func dataOf(rows []dataRow) (all []domain.DatasetData) {
	for _, row := range rows {
		if len(all) == 0 || all[len(all)-1].ID != row.ID {
			all = append(all, domain.DatasetData{ID: row.ID, Version: row.Version, Access: row.Access, Dataset: row.dataset()})
		}
		if row.FileID.Valid {
			last := &all[len(all)-1]
			last.Files = append(last.Files, domain.DataFile{
				ID:     row.FileID.String,
				Key:    row.Key.String,
				Rows:   row.Rows.Int64,
				Bytes:  row.Bytes.Int64,
				SHA256: row.SHA256.String,
			})
		}
	}
	return all
}

var (
	dataByName = parse(`SELECT ` + dataColumns + fromDatasetFiles + namedDataset + `
ORDER BY d.id, f.id`)
	dataByID = parse(`SELECT ` + dataColumns + fromDatasetFiles + `
	AND d.id = :id
ORDER BY f.id`)
	// bytesOfNamespace is read before dataOfNamespace, for the limit maxDescribed; the first of
	// all datasets, which is fast, and the other of those that the caller may read.
	bytesOfNamespace = parse(`SELECT COALESCE(SUM(` + describedBytes + `), 0)` + joinDatasets + `
WHERE n.id = :namespace_id`)
	readableBytesOfNamespace = parse(`SELECT COALESCE(SUM(` + describedBytes + `), 0)` + fromDatasets + `
	AND n.id = :namespace_id`)
	dataOfNamespace = parse(`SELECT ` + dataColumns + fromDatasetFiles + `
	AND n.id = :namespace_id
ORDER BY d.id, f.id`)
)

// DatasetData returns a dataset with its files, for those who may read it.
func (s *Store) DatasetData(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetData, error) {
	return s.oneDataset(ctx, dataByName, ofDataset(caller, ref))
}

func (s *Store) oneDataset(ctx context.Context, query *statement, a args) (domain.DatasetData, error) {
	var rows []dataRow
	err := query.list(ctx, s, &rows, a)
	if err == nil && len(rows) == 0 {
		err = domain.ErrNotFound
	}
	if err != nil {
		return domain.DatasetData{}, wrap("read dataset's files", err)
	}
	all, err := s.withRowFilters(ctx, a, dataOf(rows))
	if err != nil {
		return domain.DatasetData{}, err
	}
	return all[0], nil
}

// DatasetDataByID is DatasetData for one that was found before.
func (s *Store) DatasetDataByID(ctx context.Context, caller domain.Caller, id string) (domain.DatasetData, error) {
	return s.oneDataset(ctx, dataByID, by(caller, args{"id": id}))
}

// NamespaceData returns all of a namespace's datasets that the caller may read. ErrNotFound
// when the caller may not see the namespace, ErrInvalid when their descriptions are too large.
func (s *Store) NamespaceData(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.DatasetData, error) {
	found, err := findNamespace(ctx, s, caller, ref)
	if err != nil {
		return nil, wrap("find namespace", err)
	}
	a := by(caller, args{"namespace_id": found.ID})
	var bytes int64
	for _, read := range []*statement{bytesOfNamespace, readableBytesOfNamespace} {
		if err := read.get(ctx, s, &bytes, a); err != nil {
			return nil, wrap("read size of namespace's datasets", err)
		}
		if bytes <= maxDescribed {
			break
		}
	}
	if bytes > maxDescribed {
		return nil, domain.Errorf(domain.ErrInvalid,
			"the columns and descriptions of this namespace have %d MiB, and at most %d can be read at once; move datasets to another namespace, or shorten descriptions",
			bytes>>20, maxDescribed>>20)
	}
	var rows []dataRow
	if err := dataOfNamespace.list(ctx, s, &rows, a); err != nil {
		return nil, wrap("read namespace's files", err)
	}
	return s.withRowFilters(ctx, a, dataOf(rows))
}

// CommitVersion makes a change visible, all of it or nothing. ErrNotFound when the dataset is
// gone.
func (s *Store) CommitVersion(ctx context.Context, change domain.VersionChange) error {
	var bytes int64
	err := s.inTx(ctx, "commit version", func(tx *transaction) error {
		if err := editableByID(ctx, tx, change.Caller, change.DatasetID); err != nil {
			return err
		}
		version, err := s.nextVersion(ctx, tx, change.DatasetID)
		if err != nil {
			return err
		}
		if !change.Replace {
			if err := expectColumns(ctx, tx, change.DatasetID, version-1, change.Have); err != nil {
				return err
			}
		}
		if err := s.changeFiles(ctx, tx, change); err != nil {
			return err
		}
		if err := s.addVersion(ctx, tx, change.DatasetID, version, change.Columns); err != nil {
			return err
		}
		if err := s.addProfile(ctx, tx, change, version); err != nil {
			return err
		}
		if change.Ingestion != nil {
			bytes, err = s.completeIngestion(ctx, tx, change.DatasetID, version, *change.Ingestion)
		}
		return err
	})
	if err == nil && change.Ingestion != nil {
		s.observer.IngestionEnded(domain.IngestionCompleted, change.Ingestion.Rows, bytes)
	}
	return err
}

// nextVersion increments the version of a dataset, which locks it until the transaction ends. Watches
// of its namespace become due.
func (s *Store) nextVersion(ctx context.Context, tx *transaction, datasetID string) (int64, error) {
	var version int64
	err := tx.GetContext(ctx, &version, `
UPDATE datasets
SET version = version + 1, updated_at = $2
WHERE id = $1
RETURNING version`, datasetID, s.millis())
	if err == nil {
		err = s.markWatches(ctx, tx, datasetID)
	}
	return version, err
}

func expectColumns(ctx context.Context, tx *transaction, datasetID string, version int64, have []domain.Column) error {
	var columns jsonText[[]domain.Column]
	err := tx.GetContext(ctx, &columns, `SELECT columns FROM dataset_versions WHERE dataset_id = $1 AND version = $2`, datasetID, version)
	if err != nil {
		return err
	}
	if !slices.Equal(columns.value, have) {
		return domain.Errorf(domain.ErrConflict, "the dataset's columns have changed meanwhile")
	}
	return nil
}

func (s *Store) changeFiles(ctx context.Context, tx *transaction, change domain.VersionChange) error {
	if change.Replace {
		if err := s.dropFiles(ctx, tx, change.DatasetID); err != nil {
			return err
		}
	}
	for _, file := range change.Drop {
		// Another change may have dropped it: then the rows of this one are outdated.
		err := execOne(ctx, tx, `DELETE FROM dataset_files WHERE id = $1 AND dataset_id = $2`, file.ID, change.DatasetID)
		if err := orConflict(err); err != nil {
			return fmt.Errorf("drop file: %w", err)
		}
		if err := s.addOrphan(ctx, tx, file.Key, s.now().Add(orphanTTL)); err != nil {
			return err
		}
	}
	for _, file := range change.Add {
		_, err := exec(ctx, tx, `
INSERT INTO dataset_files (id, dataset_id, object_key, row_count, byte_count, sha256, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)`, file.ID, change.DatasetID, file.Key, file.Rows, file.Bytes, file.SHA256, s.millis())
		if err != nil {
			return err
		}
		if err := s.adopt(ctx, tx, file.Key); err != nil {
			return err
		}
	}
	return nil
}

// adopt removes an object that a record names from the list of orphaned ones.
func (s *Store) adopt(ctx context.Context, tx *transaction, key string) error {
	// Retention may be removing one that is due.
	err := execOne(ctx, tx, `DELETE FROM loose_objects WHERE object_key = $1 AND due_at > $2`, key, s.now().Add(time.Minute).UnixMilli())
	if err := orConflict(err); err != nil {
		return fmt.Errorf("adopt file: %w", err)
	}
	return nil
}

// orConflict makes ErrConflict of ErrNotFound, for a row that existed a moment ago.
func orConflict(err error) error {
	if errors.Is(err, domain.ErrNotFound) {
		return domain.ErrConflict
	}
	return err
}

// dropFiles makes a dataset's files orphaned.
func (s *Store) dropFiles(ctx context.Context, tx *transaction, datasetID string) error {
	_, err := exec(ctx, tx, `
INSERT INTO loose_objects (object_key, due_at)
SELECT object_key, CAST($2 AS BIGINT)
FROM dataset_files
WHERE dataset_id = $1`, datasetID, s.now().Add(orphanTTL).UnixMilli())
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, `DELETE FROM dataset_files WHERE dataset_id = $1`, datasetID)
	return err
}

// addVersion records a version of a dataset: its rows are those of its files.
func (s *Store) addVersion(ctx context.Context, tx *transaction, datasetID string, version int64, columns []domain.Column) error {
	stored := jsonText[[]column]{each(columns, func(c domain.Column) column { return column(c) })}
	_, err := exec(ctx, tx, `
INSERT INTO dataset_versions (dataset_id, version, columns, row_count, byte_count, created_at)
SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), COALESCE(SUM(row_count), 0), COALESCE(SUM(byte_count), 0), CAST($4 AS BIGINT)
FROM dataset_files
WHERE dataset_id = $1`, datasetID, version, stored, s.millis())
	if err != nil {
		return err
	}
	_, err = exec(ctx, tx, `DELETE FROM dataset_versions WHERE dataset_id = $1 AND version <= $2`, datasetID, version-maxVersions)
	return err
}

// UnnamedObjects returns those of some objects that no dataset or attachment names now.
func (s *Store) UnnamedObjects(ctx context.Context, keys []string) ([]string, error) {
	return s.missing(ctx, `
SELECT object_key FROM dataset_files WHERE object_key IN (:values)
UNION ALL
SELECT object_key FROM attachment_objects WHERE object_key IN (:values)`, keys)
}

// AddOrphanedObjects lists objects that are to be written; they are removed when no version
// names them that long from now. A second call extends the time.
func (s *Store) AddOrphanedObjects(ctx context.Context, keys []string, lasts time.Duration) error {
	return s.inTx(ctx, "list orphaned objects", func(tx *transaction) error {
		due := s.now().Add(lasts)
		for _, key := range keys {
			if err := s.addOrphan(ctx, tx, key, due); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) addOrphan(ctx context.Context, tx *transaction, key string, due time.Time) error {
	_, err := exec(ctx, tx, `
INSERT INTO loose_objects (object_key, due_at)
VALUES ($1, $2)
ON CONFLICT (object_key) DO UPDATE
SET due_at = excluded.due_at`, key, due.UnixMilli())
	return err
}

// OrphanedObjects lists at most limit objects that are to be removed within that long from now;
// none while a process copies objects.
func (s *Store) OrphanedObjects(ctx context.Context, within time.Duration, limit int) ([]string, error) {
	now := s.now()
	var keys []string
	err := s.SelectContext(ctx, &keys, `
SELECT object_key
FROM loose_objects
WHERE due_at <= $1
	AND NOT EXISTS (SELECT 1 FROM leases WHERE name = '`+keepOrphansLease+`' AND expires_at > $3)
ORDER BY due_at
LIMIT $2`, now.Add(within).UnixMilli(), limit, now.UnixMilli())
	return keys, wrap("read orphaned objects", err)
}

// ForgetOrphanedObject records that an orphaned object has been removed.
func (s *Store) ForgetOrphanedObject(ctx context.Context, key string) error {
	return s.execTx(ctx, "forget orphaned objects", `DELETE FROM loose_objects WHERE object_key = $1`, key)
}
