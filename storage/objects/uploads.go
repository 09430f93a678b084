package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"parley/storage"
)

// staleBatch is how many stale sessions are ended at a time.
const staleBatch = 100

// UploadsConfig is what upload sessions need.
type UploadsConfig struct {
	Records storage.Uploads
	Objects Store
	Log     *slog.Logger
	// PartSize is how many bytes a part has, but for the last.
	PartSize int64
	// MaxFiles is the most files of a session, MaxSize the most bytes of one.
	MaxFiles int
	MaxSize  int64
	// URLLife is how long parts can be sent.
	URLLife time.Duration
	// Stale is how long a session may take.
	Stale time.Duration
	// Now is the clock by which the records know how long that is; nil is for the
	// machine's.
	Now func() time.Time
}

// Uploads runs upload sessions: what is expected is in the records, the bytes
// go from the client to the object store.
type Uploads struct{ UploadsConfig }

// NewUploads makes an Uploads.
func NewUploads(cfg UploadsConfig) *Uploads {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Uploads{cfg}
}

// Prepare begins a session. What is wrong with the files is said of all of them
// at once.
func (u *Uploads) Prepare(ctx context.Context, caller storage.Caller, wanted []storage.NewUpload) (string, []storage.PreparedUpload, error) {
	if err := u.check(wanted); err != nil {
		return "", nil, err
	}
	if err := u.Records.MayUpload(ctx, caller, len(wanted)); err != nil {
		return "", nil, err
	}
	session := storage.UploadSession{ID: newID()}
	prepared := make([]storage.PreparedUpload, 0, len(wanted))
	for _, want := range wanted {
		file, err := u.prepareFile(ctx, caller, want)
		if err != nil {
			u.abandon(ctx, session.Files)
			return "", nil, err
		}
		session.Files = append(session.Files, file.UploadFile)
		prepared = append(prepared, file)
	}
	if err := u.Records.CreateUploadSession(ctx, caller, session); err != nil {
		u.abandon(ctx, session.Files)
		return "", nil, err
	}
	return session.ID, prepared, nil
}

func (u *Uploads) check(wanted []storage.NewUpload) error {
	var wrong []storage.FieldError
	if len(wanted) == 0 || len(wanted) > u.MaxFiles {
		wrong = append(wrong, storage.FieldError{Field: "filesToUpload", Message: fmt.Sprintf("must have 1 to %d files", u.MaxFiles)})
		wanted = nil
	}
	limit := min(u.MaxSize, u.PartSize*MaxParts)
	for i, want := range wanted {
		if problem := storage.CheckFilename(want.Filename); problem != "" {
			wrong = append(wrong, storage.FieldError{Field: fmt.Sprintf("filesToUpload[%d].filename", i), Message: problem})
		}
		if want.Size < 1 || want.Size > limit {
			wrong = append(wrong, storage.FieldError{Field: fmt.Sprintf("filesToUpload[%d].size", i), Message: fmt.Sprintf("must be 1 to %d bytes", limit)})
		}
	}
	if len(wrong) > 0 {
		return storage.Invalid(wrong...)
	}
	return nil
}

func (u *Uploads) prepareFile(ctx context.Context, caller storage.Caller, want storage.NewUpload) (storage.PreparedUpload, error) {
	id := newID()
	upload, err := u.Objects.Begin(ctx, storage.UploadKey(id, want.For))
	if err != nil {
		return storage.PreparedUpload{}, err
	}
	file := storage.PreparedUpload{UploadFile: storage.UploadFile{
		ID:       id,
		Filename: want.Filename,
		Size:     want.Size,
		PartSize: u.PartSize,
		Key:      upload.Key,
		UploadID: upload.ID,
		Status:   storage.UploadPreparing,
	}}
	plan := planOf(file.UploadFile)
	for number := 1; number <= plan.Parts(); number++ {
		size := plan.Part(number)
		address, err := u.Objects.PartURL(ctx, caller.Username, upload, number, size, u.URLLife)
		if err != nil {
			u.abandon(ctx, []storage.UploadFile{file.UploadFile})
			return storage.PreparedUpload{}, err
		}
		file.URLs = append(file.URLs, storage.PartURL{URL: address, Size: size})
	}
	return file, nil
}

// Parts gives a file with its parts, so that an upload can go on: which have come
// in, and new addresses for the others. A completed file has no parts any more.
func (u *Uploads) Parts(ctx context.Context, caller storage.Caller, sessionID, fileID string) (storage.UploadFile, []storage.UploadPart, error) {
	file, err := u.file(ctx, caller, sessionID, fileID)
	if err != nil || file.Status == storage.UploadCompleted {
		return file, nil, err
	}
	stored, err := u.Objects.Stored(ctx, uploadOf(file), planOf(file))
	if errors.Is(err, storage.ErrNotFound) {
		file, err = u.recordMade(ctx, caller, sessionID, file)
		return file, nil, err
	}
	if err != nil {
		return storage.UploadFile{}, nil, err
	}
	plan := planOf(file)
	parts := make([]storage.UploadPart, plan.Parts())
	for i := range parts {
		parts[i] = storage.UploadPart{Number: i + 1, Size: plan.Part(i + 1)}
	}
	for _, part := range stored {
		parts[part.Number-1].ETag = part.ETag
	}
	for i, part := range parts {
		if part.ETag != "" {
			continue
		}
		if parts[i].URL, err = u.Objects.PartURL(ctx, caller.Username, uploadOf(file), part.Number, part.Size, u.URLLife); err != nil {
			return storage.UploadFile{}, nil, err
		}
	}
	return file, parts, nil
}

// recordMade records a file whose object was made, though whoever made it could not
// say so any more. ErrNotFound when there is none.
func (u *Uploads) recordMade(ctx context.Context, caller storage.Caller, sessionID string, file storage.UploadFile) (storage.UploadFile, error) {
	body, made, err := u.Objects.Open(ctx, file.Key)
	if err == nil {
		_ = body.Close() // nothing of it was read
	}
	switch {
	case errors.Is(err, storage.ErrNotFound), err == nil && made.Size != file.Size:
		return storage.UploadFile{}, noUpload()
	case err != nil:
		return storage.UploadFile{}, err
	}
	session, err := u.record(context.WithoutCancel(ctx), caller, sessionID, file)
	file, _ = session.File(file.ID)
	return file, err
}

// file finds a file of a session, one that was not aborted.
func (u *Uploads) file(ctx context.Context, caller storage.Caller, sessionID, fileID string) (storage.UploadFile, error) {
	session, err := u.Records.UploadSession(ctx, caller, sessionID)
	if err != nil {
		return storage.UploadFile{}, err
	}
	file, ok := session.File(fileID)
	switch {
	case !ok:
		err = storage.ErrNotFound
	case file.Status == storage.UploadAborted:
		err = storage.Errorf(storage.ErrInvalid, "the upload was aborted")
	}
	return file, err
}

// Session gives a session with its files.
func (u *Uploads) Session(ctx context.Context, caller storage.Caller, id string) (storage.UploadSession, error) {
	return u.Records.UploadSession(ctx, caller, id)
}

// Bucket names where the bytes are.
func (u *Uploads) Bucket() string { return u.Objects.Bucket() }

// ObjectName is what a key is called there.
func (u *Uploads) ObjectName(key string) string { return u.Objects.Name(key) }

// Finish makes a file of its parts and gives its session. Missing, doubled or
// wrong parts are ErrInvalid and change nothing; a finished file can be
// finished again.
func (u *Uploads) Finish(ctx context.Context, caller storage.Caller, sessionID, fileID string, upload storage.UploadFile, parts []storage.SentPart) (storage.UploadSession, error) {
	file, err := u.file(ctx, caller, sessionID, fileID)
	if err != nil {
		return storage.UploadSession{}, err
	}
	if file.UploadID != upload.UploadID || file.Key != upload.Key {
		return storage.UploadSession{}, storage.Invalid(storage.FieldError{Field: "uploadId", Message: "and key must be those that the file was prepared with"})
	}
	// Making the object may take longer than the client waits: it can ask again.
	ctx = context.WithoutCancel(ctx)
	sent := make([]Part, len(parts))
	for i, part := range parts {
		sent[i] = Part(part)
	}
	_, err = u.Objects.Complete(ctx, uploadOf(file), planOf(file), sent)
	if err != nil && !(file.Status == storage.UploadCompleted && errors.Is(err, storage.ErrNotFound)) {
		return storage.UploadSession{}, err
	}
	return u.record(ctx, caller, sessionID, file)
}

// record notes that a file's object is made.
func (u *Uploads) record(ctx context.Context, caller storage.Caller, sessionID string, file storage.UploadFile) (storage.UploadSession, error) {
	session, err := u.Records.CompleteUploadFile(ctx, caller, sessionID, file.ID)
	if errors.Is(err, storage.ErrInvalid) {
		// It was aborted meanwhile, before there was an object to remove.
		if err := u.Objects.Delete(ctx, file.Key); err != nil {
			u.Log.WarnContext(ctx, "an aborted upload was not removed", "error", err)
		}
	}
	return session, err
}

// Abort ends a session and removes the parts of its unfinished files.
func (u *Uploads) Abort(ctx context.Context, caller storage.Caller, id string) (storage.UploadSession, error) {
	session, err := u.Records.AbortUploadSession(ctx, caller, id)
	if err != nil {
		return storage.UploadSession{}, err
	}
	return session, u.removeParts(ctx, session)
}

// AbortStale ends the sessions that have taken too long, and sweeps up what
// was left behind.
func (u *Uploads) AbortStale(ctx context.Context) error {
	for {
		sessions, err := u.Records.AbortStaleUploads(ctx, u.Stale, staleBatch)
		if err != nil {
			return err
		}
		for _, session := range sessions {
			if err := u.removeParts(ctx, session); err != nil {
				return err
			}
		}
		if len(sessions) < staleBatch {
			break
		}
	}
	_, err := u.Objects.Sweep(ctx, u.earliest().Add(-u.Stale))
	return err
}

// earliest is the time by whichever clock is behind, the records' or that of this
// machine, which may have been set: parts have its times, and those of a session
// that goes on must not look old.
func (u *Uploads) earliest() time.Time {
	recorded, here := u.Now(), time.Now()
	if recorded.Before(here) {
		return recorded
	}
	return here
}

func (u *Uploads) removeParts(ctx context.Context, session storage.UploadSession) error {
	for _, file := range session.Files {
		if file.Status != storage.UploadAborted {
			continue
		}
		if err := u.Objects.Abort(ctx, uploadOf(file)); err != nil {
			return fmt.Errorf("remove the parts of an upload: %w", err)
		}
		// The parts may have become an object whose record never came.
		if err := u.Objects.Delete(ctx, file.Key); err != nil {
			return fmt.Errorf("remove an upload: %w", err)
		}
	}
	return nil
}

// abandon undoes what was begun of a session that did not come to be. What it
// cannot undo, the sweep does.
func (u *Uploads) abandon(ctx context.Context, files []storage.UploadFile) {
	for _, file := range files {
		if err := u.Objects.Abort(context.WithoutCancel(ctx), uploadOf(file)); err != nil {
			u.Log.WarnContext(ctx, "an upload was not undone", "error", err)
		}
	}
}

func uploadOf(file storage.UploadFile) Upload { return Upload{Key: file.Key, ID: file.UploadID} }

func planOf(file storage.UploadFile) Plan { return Plan{Size: file.Size, PartSize: file.PartSize} }

func newID() string { return uuid.Must(uuid.NewV7()).String() }
