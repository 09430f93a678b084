package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
)

// keepOrphansLease is the lease of a process that copies objects.
const keepOrphansLease = "keep-loose"

// StoredObject is an object that the records name.
type StoredObject struct {
	Key   string `db:"object_key"`
	Bytes int64  `db:"byte_count"`
	// SHA256 is "" where it was not recorded.
	SHA256 string
}

// Snapshot copies the embedded database, as it is at one moment, to a file that
// is not there yet. Others may read and write meanwhile, also in other processes.
func (s *Store) Snapshot(ctx context.Context, to string) error {
	if s.path == "" {
		return errors.New("copy the database: only the embedded database can be copied")
	}
	from, err := filepath.Abs(s.path)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	file := (&url.URL{Scheme: "file", Path: from}).String()
	// A separate connection: those of the store do not wait.
	db, err := sqlx.Open("sqlite", file+"?_pragma=busy_timeout(60000)")
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return wrap("copy the database", err)
	}
	return nil
}

// CheckIntegrity reports what is wrong with the file of the embedded database.
func (s *Store) CheckIntegrity(ctx context.Context) error {
	var result string
	if err := s.GetContext(ctx, &result, `PRAGMA quick_check(1)`); err != nil {
		return wrap("check the database", err)
	}
	if result != "ok" {
		return fmt.Errorf("the database is damaged: %s", result)
	}
	return nil
}

var storedObjects = parse(`
SELECT object_key, byte_count, sha256
FROM dataset_files
UNION ALL
SELECT object_key, byte_count, sha256
FROM attachment_objects
UNION ALL
SELECT object_key, byte_count, ''
FROM upload_files
WHERE status = 'completed'
ORDER BY object_key`)

// EachObject gives every object that the records name, one after the other,
// until one is an error.
func (s *Store) EachObject(ctx context.Context, each func(StoredObject) error) error {
	var failed error
	err := s.eachRow(ctx, storedObjects, nil, func(rows *sqlx.Rows) error {
		var object StoredObject
		if err := rows.StructScan(&object); err != nil {
			return err
		}
		failed = each(object)
		return failed
	})
	if failed != nil {
		return failed
	}
	return wrap("list the objects", err)
}

// KeepOrphans has no process list orphaned objects, to remove them, for that long
// from now.
func (s *Store) KeepOrphans(ctx context.Context, ttl time.Duration) error {
	return s.execTx(ctx, "keep orphaned objects", `
INSERT INTO leases (name, holder, fence, expires_at)
VALUES ('`+keepOrphansLease+`', '', 1, $1)
ON CONFLICT (name) DO UPDATE
SET expires_at = excluded.expires_at
WHERE leases.expires_at < excluded.expires_at`, s.now().Add(ttl).UnixMilli())
}
