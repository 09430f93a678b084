// Package uploads runs upload sessions. The expected files are in the records, which
// decide on access; the bytes go from the client to the object store. Ingestion is left to
// others.
package uploads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/disk"
	"parley/internal/domain"
	"parley/storage/objects"
	"parley/storage/sqlstore"
)

// staleBatch is how many stale sessions are aborted at a time.
const staleBatch = 100

// Config is the configuration of Sessions.
type Config struct {
	Records *sqlstore.Store
	Objects objects.Store
	Log     *slog.Logger
	// Space is the room for them; nil for no limit.
	Space *disk.Space
	// PartSize is the size of all parts but the last.
	PartSize int64
	// MaxFiles bounds the files of a session, MaxSize the bytes of a file.
	MaxFiles int
	MaxSize  int64
	// URLLife is how long the address of a part is valid.
	URLLife time.Duration
	// Stale is how long a session may take, by the records' clock Now; nil for
	// time.Now.
	Stale time.Duration
	Now   func() time.Time
}

// Sessions runs upload sessions.
type Sessions struct{ config Config }

// New makes Sessions.
func New(config Config) *Sessions {
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Sessions{config}
}

// Prepare begins a session. It reports the problems of all files at once.
func (s *Sessions) Prepare(ctx context.Context, caller domain.Caller, wanted []domain.NewUpload) (sessionID string, prepared []domain.PreparedUpload, err error) {
	if err := s.check(wanted); err != nil {
		return "", nil, err
	}
	if err := s.config.Records.MayUpload(ctx, caller, len(wanted)); err != nil {
		return "", nil, err
	}
	var bytes int64
	for _, want := range wanted {
		bytes += want.Size
	}
	if err := s.config.Space.CheckFiles(ctx, caller.Username, bytes); err != nil {
		return "", nil, err
	}
	session := domain.UploadSession{ID: domain.NewID()}
	defer func() {
		if err != nil {
			s.abandon(ctx, session.Files)
		}
	}()
	for _, want := range wanted {
		file := domain.UploadFile{
			ID: domain.NewID(), Filename: want.Filename, Size: want.Size, PartSize: s.config.PartSize,
			Status: domain.UploadPreparing, Dataset: want.Dataset,
		}
		upload, err := s.config.Objects.Begin(ctx, "uploads/"+file.ID)
		if err != nil {
			return "", nil, err
		}
		file.Key, file.UploadID = upload.Key, upload.ID
		session.Files = append(session.Files, file)
		parts, err := s.parts(ctx, caller, file, nil)
		if err != nil {
			return "", nil, err
		}
		prepared = append(prepared, domain.PreparedUpload{UploadFile: file, Parts: parts})
	}
	return session.ID, prepared, s.config.Records.CreateUploadSession(ctx, caller, session)
}

// PartCount returns how many parts files are uploaded in.
func (s *Sessions) PartCount(wanted []domain.NewUpload) int {
	count := 0
	for _, want := range wanted {
		count += domain.PartPlan{Size: want.Size, PartSize: s.config.PartSize}.Parts()
	}
	return count
}

func (s *Sessions) check(wanted []domain.NewUpload) error {
	if len(wanted) == 0 || len(wanted) > s.config.MaxFiles {
		return domain.Invalid(domain.FieldError{Field: "filesToUpload", Message: fmt.Sprintf("must have 1 to %d files", s.config.MaxFiles)})
	}
	var wrong []domain.FieldError
	limit := min(s.config.MaxSize, s.config.PartSize*domain.MaxParts)
	for i, want := range wanted {
		if problem := domain.CheckFilename(want.Filename); problem != "" {
			wrong = append(wrong, domain.FieldError{Field: fmt.Sprintf("filesToUpload[%d].filename", i), Message: problem})
		}
		if want.Size < 1 || want.Size > limit {
			wrong = append(wrong, domain.FieldError{Field: fmt.Sprintf("filesToUpload[%d].size", i), Message: fmt.Sprintf("must be 1 to %d bytes", limit)})
		}
	}
	if len(wrong) > 0 {
		return domain.Invalid(wrong...)
	}
	return nil
}

// Parts returns a file and its parts, to resume an upload: the received ones have an ETag,
// the others a new address. A completed file has no parts.
func (s *Sessions) Parts(ctx context.Context, caller domain.Caller, sessionID, fileID string) (domain.UploadFile, []domain.UploadPart, error) {
	file, err := s.file(ctx, caller, sessionID, fileID)
	if err != nil || file.Status == domain.UploadCompleted {
		return file, nil, err
	}
	stored, err := s.config.Objects.Stored(ctx, uploadOf(file), planOf(file))
	if errors.Is(err, domain.ErrNotFound) {
		file, err = s.recordUnrecorded(ctx, caller, sessionID, file)
		return file, nil, err
	}
	if err != nil {
		return file, nil, err
	}
	parts, err := s.parts(ctx, caller, file, stored)
	return file, parts, err
}

// parts returns the parts of a file, with addresses for those that are not stored.
func (s *Sessions) parts(ctx context.Context, caller domain.Caller, file domain.UploadFile, stored []domain.SentPart) ([]domain.UploadPart, error) {
	plan := planOf(file)
	parts := make([]domain.UploadPart, plan.Parts())
	for _, part := range stored {
		parts[part.Number-1].ETag = part.ETag
	}
	var err error
	for i := range parts {
		part := &parts[i]
		part.Number, part.Size = i+1, plan.Part(i+1)
		if err == nil && part.ETag == "" {
			part.URL, err = s.config.Objects.PartURL(ctx, caller.Username, uploadOf(file), part.Number, part.Size, s.config.URLLife)
		}
	}
	return parts, err
}

// recordUnrecorded records a file whose object exists: a process made it and died before
// it recorded it. ErrNotFound when there is none.
func (s *Sessions) recordUnrecorded(ctx context.Context, caller domain.Caller, sessionID string, file domain.UploadFile) (domain.UploadFile, error) {
	body, size, err := s.config.Objects.Open(ctx, file.Key)
	if err == nil {
		_ = body.Close()
	}
	switch {
	case errors.Is(err, domain.ErrNotFound), err == nil && size != file.Size:
		return domain.UploadFile{}, domain.Errorf(domain.ErrNotFound, "upload not found, or no access")
	case err != nil:
		return domain.UploadFile{}, err
	}
	session, err := s.record(context.WithoutCancel(ctx), caller, sessionID, file)
	file, _ = session.File(file.ID)
	return file, err
}

// file finds a file of a session that was not aborted.
func (s *Sessions) file(ctx context.Context, caller domain.Caller, sessionID, fileID string) (domain.UploadFile, error) {
	session, err := s.config.Records.UploadSession(ctx, caller, sessionID)
	if err != nil {
		return domain.UploadFile{}, err
	}
	file, ok := session.File(fileID)
	switch {
	case !ok:
		err = domain.ErrNotFound
	case file.Status == domain.UploadAborted:
		err = domain.Errorf(domain.ErrInvalid, "the upload was aborted")
	}
	return file, err
}

// Session returns a session with its files.
func (s *Sessions) Session(ctx context.Context, caller domain.Caller, id string) (domain.UploadSession, error) {
	return s.config.Records.UploadSession(ctx, caller, id)
}

// Bucket names the object store.
func (s *Sessions) Bucket() string { return s.config.Objects.Bucket() }

// ObjectName is the name of a key in the object store.
func (s *Sessions) ObjectName(key string) string { return s.config.Objects.Name(key) }

// Finish makes a file of its parts and gives its session. Missing, doubled or wrong parts
// are ErrInvalid and change nothing. It can be repeated.
func (s *Sessions) Finish(ctx context.Context, caller domain.Caller, sessionID, fileID string, upload domain.UploadFile, parts []domain.SentPart) (domain.UploadSession, error) {
	file, err := s.file(ctx, caller, sessionID, fileID)
	if err != nil {
		return domain.UploadSession{}, err
	}
	if file.UploadID != upload.UploadID || file.Key != upload.Key {
		return domain.UploadSession{}, domain.Invalid(domain.FieldError{Field: "uploadId", Message: "and key must be those that the file was prepared with"})
	}
	// This may take longer than the client waits, which can repeat it.
	ctx = context.WithoutCancel(ctx)
	err = s.config.Objects.Complete(ctx, uploadOf(file), planOf(file), parts)
	if err != nil && !(file.Status == domain.UploadCompleted && errors.Is(err, domain.ErrNotFound)) {
		return domain.UploadSession{}, err
	}
	return s.record(ctx, caller, sessionID, file)
}

func (s *Sessions) record(ctx context.Context, caller domain.Caller, sessionID string, file domain.UploadFile) (domain.UploadSession, error) {
	session, err := s.config.Records.CompleteUploadFile(ctx, caller, sessionID, file.ID)
	if errors.Is(err, domain.ErrInvalid) {
		// It was aborted meanwhile, when there was no object to remove.
		if err := s.config.Objects.Delete(ctx, file.Key); err != nil {
			s.config.Log.WarnContext(ctx, "aborted upload not removed", "error", err)
		}
	}
	return session, err
}

// Abort ends a session and removes the parts of its unfinished files.
func (s *Sessions) Abort(ctx context.Context, caller domain.Caller, id string) (domain.UploadSession, error) {
	session, err := s.config.Records.AbortUploadSession(ctx, caller, id)
	if err != nil {
		return domain.UploadSession{}, err
	}
	return session, s.removeParts(ctx, session)
}

// AbortStale aborts the sessions that have taken too long, and removes unfinished uploads
// without a session.
func (s *Sessions) AbortStale(ctx context.Context) error {
	for {
		sessions, err := s.config.Records.AbortStaleUploads(ctx, s.config.Stale, staleBatch)
		if err != nil {
			return err
		}
		for _, session := range sessions {
			if err := s.removeParts(ctx, session); err != nil {
				return err
			}
		}
		if len(sessions) < staleBatch {
			break
		}
	}
	// Parts have the times of this machine's clock, which may have been set: by the
	// earlier of both clocks, no running upload is stale.
	now := time.Now()
	if recorded := s.config.Now(); recorded.Before(now) {
		now = recorded
	}
	_, err := s.config.Objects.Sweep(ctx, now.Add(-s.config.Stale))
	return err
}

func (s *Sessions) removeParts(ctx context.Context, session domain.UploadSession) error {
	for _, file := range session.Files {
		if file.Status != domain.UploadAborted {
			continue
		}
		err := s.config.Objects.Abort(ctx, uploadOf(file))
		if err == nil {
			// A process may have made the object and died before it recorded it.
			err = s.config.Objects.Delete(ctx, file.Key)
		}
		if err != nil {
			return fmt.Errorf("remove aborted upload: %w", err)
		}
	}
	return nil
}

// abandon aborts the uploads of a session that was not created. What it cannot abort is
// swept.
func (s *Sessions) abandon(ctx context.Context, files []domain.UploadFile) {
	for _, file := range files {
		if err := s.config.Objects.Abort(context.WithoutCancel(ctx), uploadOf(file)); err != nil {
			s.config.Log.WarnContext(ctx, "upload not aborted", "error", err)
		}
	}
}

func uploadOf(file domain.UploadFile) domain.ObjectUpload {
	return domain.ObjectUpload{Key: file.Key, ID: file.UploadID}
}

func planOf(file domain.UploadFile) domain.PartPlan {
	return domain.PartPlan{Size: file.Size, PartSize: file.PartSize}
}
