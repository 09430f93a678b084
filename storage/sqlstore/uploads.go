package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"
	"time"

	"parley/internal/domain"
)

// staleUploads is the open sessions of all users that began before $1, for retention.
const staleUploads = `
	SELECT id
	FROM upload_sessions
	WHERE status = 'preparing'
		AND created_at < $1
	ORDER BY created_at`

// uploadRow is a file with its session.
type uploadRow struct {
	SessionID     string
	SessionStatus domain.UploadStatus
	domain.UploadFile
}

const (
	fileColumns   = `f.id, f.filename, f.byte_count AS size, f.part_size, f.object_key AS key, f.upload_id, f.status`
	uploadColumns = `u.id AS session_id, u.status AS session_status, ` + fileColumns
)

// sessionOf gathers the rows of one session.
func sessionOf(rows []uploadRow) (domain.UploadSession, error) {
	if len(rows) == 0 {
		return domain.UploadSession{}, domain.ErrNotFound
	}
	session := domain.UploadSession{ID: rows[0].SessionID, Status: rows[0].SessionStatus}
	for _, row := range rows {
		session.Files = append(session.Files, row.UploadFile)
	}
	return session, nil
}

var (
	countOpenUploads = parse(`SELECT COUNT(*)` + openUploads)
	selectUpload     = parse(`SELECT ` + uploadColumns + fromUploads + ` AND u.id = :session ORDER BY f.position`)
	uploadByKey      = parse(`SELECT f.session_id, f.id, f.dataset` + fromUploads + ` AND f.object_key = :key`)
	touchUpload      = parse(`UPDATE upload_sessions AS u SET updated_at = :now WHERE u.id = :session AND ` + ownUpload + ` RETURNING status`)
)

// MayUpload is ErrTooMany for so many files that the caller would be uploading more than
// MaxOpenUploads, and ErrForbidden for a read-only token.
func (s *Store) MayUpload(ctx context.Context, caller domain.Caller, files int) error {
	err := mayUpload(ctx, s, caller, files)
	return wrap("count uploads", err)
}

func mayUpload(ctx context.Context, q queryer, caller domain.Caller, files int) error {
	if err := mayWrite(ctx, q, caller); err != nil {
		return err
	}
	var open int
	if err := countOpenUploads.get(ctx, q, &open, by(caller, nil)); err != nil {
		return err
	}
	if open+files > domain.MaxOpenUploads {
		return domain.Errorf(domain.ErrTooMany, "you are uploading %d files, and may upload at most %d at a time; finish or abort some: "+
			"what is left unfinished is aborted after a day", open, domain.MaxOpenUploads)
	}
	return nil
}

// HeldBytes returns how many bytes the files and records of a user take; 0 for the only user.
func (s *Store) HeldBytes(ctx context.Context, owner string) (bytes int64, err error) {
	err = heldBytes.get(ctx, s, &bytes, args{"owner": owner})
	return bytes, wrap("count bytes of a user", err)
}

// SpareBytes returns how many bytes of the embedded database are free for other records; 0 for a
// server.
func (s *Store) SpareBytes(ctx context.Context) (bytes int64, err error) {
	if s.dialect.spareBytes == "" {
		return 0, nil
	}
	err = s.GetContext(ctx, &bytes, s.dialect.spareBytes)
	return bytes, wrap("count free bytes", err)
}

// CreateUploadSession begins a session, by the rule of MayUpload.
func (s *Store) CreateUploadSession(ctx context.Context, caller domain.Caller, session domain.UploadSession) error {
	return s.inOwnerTx(ctx, "create upload session", caller.Username, func(tx *transaction) error {
		if err := mayUpload(ctx, tx, caller, len(session.Files)); err != nil {
			return err
		}
		_, err := exec(ctx, tx, `
INSERT INTO upload_sessions (id, owner, restriction, status, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $5)`,
			session.ID, caller.Username, caller.Restriction, domain.UploadPreparing, s.millis())
		if err != nil {
			return err
		}
		for i, file := range session.Files {
			_, err := exec(ctx, tx, `
INSERT INTO upload_files (id, session_id, position, filename, byte_count, part_size, upload_id, object_key, status, dataset)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
				file.ID, session.ID, i, file.Filename, file.Size, file.PartSize, file.UploadID, file.Key, domain.UploadPreparing,
				datasetPath(file.Dataset))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// UploadSession returns a session of the caller. A restricted token sees those that were
// prepared with it.
func (s *Store) UploadSession(ctx context.Context, caller domain.Caller, id string) (domain.UploadSession, error) {
	session, err := readUploadSession(ctx, s, caller, id)
	return session, wrap("read upload session", err)
}

func readUploadSession(ctx context.Context, q queryer, caller domain.Caller, id string) (domain.UploadSession, error) {
	var rows []uploadRow
	if err := selectUpload.list(ctx, q, &rows, by(caller, args{"session": id})); err != nil {
		return domain.UploadSession{}, err
	}
	return sessionOf(rows)
}

// DatasetUpload finds the file that was prepared for a dataset, by its object key. One that was
// prepared for another dataset, or for none, is ErrInvalid.
func (s *Store) DatasetUpload(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, key string) (domain.IngestFile, error) {
	var row struct {
		SessionID string
		ID        string
		Dataset   sql.NullString
	}
	if err := uploadByKey.get(ctx, s, &row, by(caller, args{"key": key})); err != nil {
		return domain.IngestFile{}, wrap("find upload", err)
	}
	path := datasetPath(ref)
	isFor := row.Dataset.String == path
	if !row.Dataset.Valid { // an older program has prepared it
		sum := sha256.Sum256([]byte(path))
		isFor = key == "uploads/"+row.ID+"-"+hex.EncodeToString(sum[:16])
	}
	if !isFor {
		return domain.IngestFile{}, domain.Invalid(domain.FieldError{Field: "key",
			Message: "is that of an upload which was not prepared for a dataset of this name"})
	}
	return domain.IngestFile{SessionID: row.SessionID, FileID: row.ID}, nil
}

// datasetPath is what upload_files.dataset holds. Names have no slash, and are
// compared without regard to case.
func datasetPath(ref domain.DatasetRef) string {
	if ref == (domain.DatasetRef{}) {
		return ""
	}
	return domain.NormalizeUsername(ref.Owner) + "/" + strings.ToLower(ref.Namespace+"/"+ref.Name)
}

// lockUploadSession reads the status of a session and locks it until the transaction ends.
func (s *Store) lockUploadSession(ctx context.Context, tx *transaction, caller domain.Caller, id string) (domain.UploadStatus, error) {
	var status domain.UploadStatus
	err := touchUpload.get(ctx, tx, &status, by(caller, args{"session": id, "now": s.millis()}))
	return status, err
}

// CompleteUploadFile marks a file completed, and its session with the last one, and returns the
// session. A file that is completed stays so; an aborted one is ErrInvalid.
func (s *Store) CompleteUploadFile(ctx context.Context, caller domain.Caller, sessionID, fileID string) (domain.UploadSession, error) {
	var session domain.UploadSession
	var status domain.UploadStatus
	err := s.inTx(ctx, "complete upload file", func(tx *transaction) error {
		if _, err := s.lockUploadSession(ctx, tx, caller, sessionID); err != nil {
			return err
		}
		err := tx.GetContext(ctx, &status, `SELECT status FROM upload_files WHERE id = $1 AND session_id = $2`, fileID, sessionID)
		if err != nil {
			return err
		}
		if status == domain.UploadAborted {
			return domain.Errorf(domain.ErrInvalid, "the upload was aborted")
		}
		if _, err := exec(ctx, tx, `UPDATE upload_files SET status = 'completed' WHERE id = $1`, fileID); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `
UPDATE upload_sessions
SET status = 'completed'
WHERE id = $1
	AND status = 'preparing'
	AND NOT EXISTS (SELECT 1 FROM upload_files f WHERE f.session_id = $1 AND f.status <> 'completed')`, sessionID)
		if err != nil {
			return err
		}
		session, err = readUploadSession(ctx, tx, caller, sessionID)
		return err
	})
	if file, ok := session.File(fileID); ok && err == nil && status == domain.UploadPreparing {
		s.observer.UploadsEnded(domain.UploadCompleted, 1, file.Size)
	}
	return session, err
}

// AbortUploadSession ends a session, and the files in it that are not completed, and returns it.
// It can be done again; a completed session is ErrInvalid.
func (s *Store) AbortUploadSession(ctx context.Context, caller domain.Caller, id string) (domain.UploadSession, error) {
	var session domain.UploadSession
	var files int64
	err := s.inTx(ctx, "abort upload session", func(tx *transaction) error {
		status, err := s.lockUploadSession(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		if status == domain.UploadCompleted {
			return domain.Errorf(domain.ErrInvalid, "the upload is completed and cannot be aborted")
		}
		if files, err = abortUpload(ctx, tx, id); err != nil {
			return err
		}
		session, err = readUploadSession(ctx, tx, caller, id)
		return err
	})
	if err == nil {
		s.observer.UploadsEnded(domain.UploadAborted, int(files), 0)
	}
	return session, err
}

// abortUpload returns how many files that were not completed there were.
func abortUpload(ctx context.Context, tx *transaction, id string) (files int64, err error) {
	files, err = exec(ctx, tx, `UPDATE upload_files SET status = 'aborted' WHERE session_id = $1 AND status = 'preparing'`, id)
	if err != nil {
		return 0, err
	}
	_, err = exec(ctx, tx, `UPDATE upload_sessions SET status = 'aborted' WHERE id = $1`, id)
	return files, err
}

// AbortStaleUploads ends at most limit sessions of all users that have been preparing for that
// long, and returns them.
func (s *Store) AbortStaleUploads(ctx context.Context, age time.Duration, limit int) ([]domain.UploadSession, error) {
	var stale []domain.UploadSession
	var aborted int64
	err := s.inTx(ctx, "abort stale uploads", func(tx *transaction) error {
		stale, aborted = nil, 0
		var ids []string
		err := tx.SelectContext(ctx, &ids, `
UPDATE upload_sessions
SET status = 'aborted', updated_at = $3
WHERE status = 'preparing'
	AND id IN (`+staleUploads+` LIMIT $2)
RETURNING id`, s.now().Add(-age).UnixMilli(), limit, s.millis())
		if err != nil {
			return err
		}
		for _, id := range ids {
			files, err := abortUpload(ctx, tx, id)
			if err != nil {
				return err
			}
			aborted += files
			var rows []uploadRow
			if err := tx.SelectContext(ctx, &rows, `SELECT `+uploadColumns+fromAnyUpload+` u.id = $1 ORDER BY f.position`, id); err != nil {
				return err
			}
			session, err := sessionOf(rows)
			if err != nil {
				return err
			}
			stale = append(stale, session)
		}
		return nil
	})
	if err == nil {
		s.observer.UploadsEnded(domain.UploadAborted, int(aborted), 0)
	}
	return stale, err
}
