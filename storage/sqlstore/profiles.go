package sqlstore

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

var selectProfile = parse(`SELECT d.version, v.columns, v.row_count, v.profile` + fromDatasets + namedDataset)

// Profile gives the profile of a dataset's current version, for those who may read it.
func (s *Store) Profile(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) (storage.DatasetProfile, error) {
	var row struct {
		Version  int64
		Columns  string
		RowCount int64
		Profile  jsonText[*storage.Profile]
	}
	if err := selectProfile.get(ctx, s, &row, ofDataset(caller, ref)); err != nil {
		return storage.DatasetProfile{}, wrap("read profile", err)
	}
	columns, err := decodeColumns(row.Columns)
	if err != nil {
		return storage.DatasetProfile{}, err
	}
	found := storage.DatasetProfile{Version: row.Version, RowCount: row.RowCount}
	if row.Profile.value != nil {
		found.Known, found.Columns = true, row.Profile.value.Columns
		return found, nil
	}
	for _, c := range columns {
		found.Columns = append(found.Columns, storage.ColumnProfile{Name: c.Name, Type: c.Type})
	}
	return found, nil
}

// addProfile records the profile of a version, made of that of the version before and of
// what was added. Only that of the last version is kept.
func (s *Store) addProfile(ctx context.Context, tx *sqlx.Tx, change storage.VersionChange, version int64) error {
	profile, err := nextProfile(ctx, tx, change, version)
	if err != nil {
		return err
	}
	if profile != nil {
		fit := profile.Fit()
		_, err := exec(ctx, tx, `UPDATE dataset_versions SET profile = $3 WHERE dataset_id = $1 AND version = $2`,
			change.DatasetID, version, jsonText[storage.Profile]{fit})
		if err != nil {
			return fmt.Errorf("record profile: %w", err)
		}
	}
	_, err = exec(ctx, tx, `UPDATE dataset_versions SET profile = '' WHERE dataset_id = $1 AND version < $2 AND profile <> ''`, change.DatasetID, version)
	return err
}

// nextProfile gives the profile of a version; nil when it is not known.
func nextProfile(ctx context.Context, tx *sqlx.Tx, change storage.VersionChange, version int64) (*storage.Profile, error) {
	if change.Replace {
		return change.Profile, nil
	}
	var before struct {
		RowCount int64
		Profile  jsonText[*storage.Profile]
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
		merged := known.Merge(*change.Profile, change.Columns)
		return &merged, nil
	}
}
