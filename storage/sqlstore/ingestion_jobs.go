package sqlstore

import (
	"context"
	"fmt"
	"time"

	"parley/internal/domain"
)

// The statements in this file are for the workers of ingestions: they find those of all users.

var (
	// waitingIngestions is the ingestions i that no process works on.
	waitingIngestions = `
FROM ingestions i
WHERE i.status IN ('pending', 'processing')
	AND ` + unleased("'ingestion/' || i.id")
	// userOrder is the order of the users of these.
	userOrder = `
	(SELECT COUNT(*)
	FROM ingestions o
	WHERE o.started_by = i.started_by
		AND o.status = 'processing'
		AND NOT ` + unleased("'ingestion/' || o.id") + `),
	(SELECT COALESCE(MAX(o.updated_at), 0)
	FROM ingestions o
	WHERE o.started_by = i.started_by
		AND o.status IN ('completed', 'failed')),
	MIN(i.created_at), i.started_by`
	// nextIngestion is the oldest waiting ingestion of the next user, smallestIngestion that with
	// the smallest files.
	nextIngestion = selectJob + `
	AND i.started_by = (
		SELECT i.started_by` + waitingIngestions + `
			AND i.started_by NOT IN (:except)
		GROUP BY i.started_by
		ORDER BY` + userOrder + `
		LIMIT 1)
ORDER BY i.created_at, i.id
LIMIT 1`
	smallestIngestion = selectJob + `
	AND i.started_by NOT IN (:except)
ORDER BY i.expected_bytes, i.created_at, i.id
LIMIT 1`
	selectJob = `
SELECT i.id, i.dataset_id, i.mode, i.started_by, i.restriction, i.attempts, i.options` + waitingIngestions
)

// jobRow is an ingestion that waits for a process.
type jobRow struct {
	ID          string
	Mode        domain.IngestMode
	StartedBy   string
	Restriction string
	Attempts    int64
	DatasetID   string
	Options     jsonText[domain.IngestOptions]
}

// ClaimIngestion claims a waiting ingestion for the time of the lease: the oldest of the user
// who has the fewest in progress and, of those, whose last one ended longest ago; or the one
// with the smallest files. It skips the users in except. ErrNotFound when there is none,
// ErrConflict when another process was faster.
func (s *Store) ClaimIngestion(ctx context.Context, holder string, ttl time.Duration, smallest bool, except []string) (domain.IngestionJob, error) {
	query := nextIngestion
	if smallest {
		query = smallestIngestion
	}
	for {
		job, attempts, err := s.tryClaim(ctx, query, holder, ttl, except)
		if err != nil || attempts <= domain.MaxIngestionAttempts {
			return job, err
		}
		err = s.FailIngestion(ctx, job, "the server was stopped in the middle of this, several times; try again, or in smaller files")
		if err != nil {
			return domain.IngestionJob{}, err
		}
	}
}

func (s *Store) tryClaim(ctx context.Context, query, holder string, ttl time.Duration, except []string) (job domain.IngestionJob, attempts int64, err error) {
	err = s.inTx(ctx, "claim ingestion", func(tx *transaction) error {
		var rows []jobRow
		// No name is empty: it keeps the list from being empty.
		err := selectIn(ctx, tx, &rows, query, args{"now": s.millis(), "except": append([]string{""}, except...)})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return domain.ErrNotFound
		}
		row := rows[0]
		lease, _, err := s.acquireLease(ctx, tx, "ingestion/"+row.ID, holder, ttl)
		if err != nil {
			return err
		}
		err = execOne(ctx, tx, `
UPDATE ingestions
SET status = 'processing', attempts = attempts + 1, processed_bytes = 0, processed_rows = 0, updated_at = $2
WHERE id = $1
	AND status IN ('pending', 'processing')`, row.ID, s.millis())
		if err := orConflict(err); err != nil {
			return err
		}
		files, err := ingestionFiles(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		attempts = row.Attempts + 1
		job = domain.IngestionJob{
			Lease:     lease,
			ID:        row.ID,
			Mode:      row.Mode,
			Caller:    domain.Caller{Username: row.StartedBy, Restriction: row.Restriction},
			DatasetID: row.DatasetID,
			Files:     files,
			Options:   row.Options.value,
		}
		return nil
	})
	return job, attempts, err
}

// RenewIngestion records the progress of a claimed ingestion and renews its lease. ErrConflict
// when another process claimed it.
func (s *Store) RenewIngestion(ctx context.Context, job domain.IngestionJob, ttl time.Duration, bytes, rows int64) error {
	return s.inLeaseTx(ctx, "renew ingestion", func(tx *transaction) error {
		if err := s.renewLease(ctx, tx, job.Lease, ttl); err != nil {
			return err
		}
		return execOne(ctx, tx, `
UPDATE ingestions
SET processed_bytes = $2, processed_rows = $3, updated_at = $4
WHERE id = $1
	AND status = 'processing'`, job.ID, bytes, rows, s.millis())
	})
}

// ReleaseIngestion releases a claimed ingestion, so that another process can claim it at once.
func (s *Store) ReleaseIngestion(ctx context.Context, job domain.IngestionJob) error {
	return s.inTx(ctx, "release ingestion", func(tx *transaction) error {
		// The lease stays, so that its fence continues to increase.
		if err := s.renewLease(ctx, tx, job.Lease, 0); err != nil {
			return err
		}
		return execOne(ctx, tx, `
UPDATE ingestions
SET status = 'pending', attempts = attempts - 1, updated_at = $2
WHERE id = $1
	AND status = 'processing'`, job.ID, s.millis())
	})
}

// FailIngestion ends a claimed ingestion with an error text for its user.
func (s *Store) FailIngestion(ctx context.Context, job domain.IngestionJob, message string) error {
	err := s.inTx(ctx, "fail ingestion", func(tx *transaction) error {
		if err := deleteLease(ctx, tx, job.Lease); err != nil {
			return err
		}
		// It may have been deleted with its dataset.
		_, err := exec(ctx, tx, `
UPDATE ingestions
SET status = 'failed', status_message = $2, updated_at = $3
WHERE id = $1
	AND status = 'processing'`, job.ID, message, s.millis())
		return err
	})
	if err == nil {
		s.observer.IngestionEnded(domain.IngestionFailed, 0, 0)
	}
	return err
}

// completeIngestion ends an ingestion in the transaction that makes its rows
// visible as a version, and gives how many bytes it has read.
func (s *Store) completeIngestion(ctx context.Context, tx *transaction, datasetID string, version int64, end domain.IngestionEnd) (bytes int64, err error) {
	if err := deleteLease(ctx, tx, end.Lease); err != nil {
		return 0, err
	}
	message, err := rowsChanged(ctx, tx, datasetID, version)
	if err != nil {
		return 0, err
	}
	err = tx.GetContext(ctx, &bytes, `
UPDATE ingestions
SET status = 'completed', status_message = $5, processed_bytes = expected_bytes, processed_rows = $2, updated_at = $3, report = $6
WHERE id = $1
	AND dataset_id = $4
	AND status = 'processing'
RETURNING processed_bytes`, end.ID, end.Rows, s.millis(), datasetID, message, jsonText[domain.IngestReport]{end.Report})
	if err != nil {
		return 0, fmt.Errorf("complete ingestion: %w", err)
	}
	return bytes, nil
}

// rowsChanged says how many rows a version has and how many there were; "" for the first
// rows of a dataset.
func rowsChanged(ctx context.Context, tx *transaction, datasetID string, version int64) (string, error) {
	var counts []int64
	err := tx.SelectContext(ctx, &counts, `
SELECT row_count
FROM dataset_versions
WHERE dataset_id = $1
	AND version IN ($2, $3)
ORDER BY version`, datasetID, version, version-1)
	if err != nil {
		return "", fmt.Errorf("count rows: %w", err)
	}
	if len(counts) < 2 || counts[0] == 0 {
		return "", nil
	}
	rows := "rows"
	if counts[1] == 1 {
		rows = "row"
	}
	return fmt.Sprintf("now %d %s (was %d)", counts[1], rows, counts[0]), nil
}
