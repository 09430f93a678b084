package rest

import (
	"errors"
	"net/http"

	"parley/internal/domain"
)

// maxKey limits keys, upload ids and ETags, in characters.
const maxKey = 1024

type preparedSession struct {
	SessionID string         `json:"sessionId"`
	Files     []preparedFile `json:"files"`
}

type preparedFile struct {
	FileID        string    `json:"fileId"`
	UploadID      string    `json:"uploadId"`
	Key           string    `json:"key"`
	Filename      string    `json:"filename"`
	PartSize      int64     `json:"partSize"`
	PresignedURLs []partURL `json:"presignedUrls"`
}

type partURL struct {
	URL  string `json:"url"`
	Size int64  `json:"partSize"`
}

func toPreparedFile(f domain.PreparedUpload) preparedFile {
	return preparedFile{
		FileID: f.ID, UploadID: f.UploadID, Key: f.Key, Filename: f.Filename, PartSize: f.PartSize,
		PresignedURLs: toList(f.Parts, func(p domain.UploadPart) partURL { return partURL{URL: p.URL, Size: p.Size} }),
	}
}

type fileParts struct {
	SessionID  string              `json:"sessionId"`
	FileID     string              `json:"fileId"`
	UploadID   string              `json:"uploadId"`
	Key        string              `json:"key"`
	Filename   string              `json:"filename"`
	FileSize   int64               `json:"fileSize"`
	FileStatus domain.UploadStatus `json:"fileStatus"`
	PartSize   int64               `json:"partSize"`
	Parts      []filePart          `json:"parts"`
}

// filePart has the ETag of a stored part, or the URL of a missing one.
type filePart struct {
	Number int    `json:"partNumber"`
	Size   int64  `json:"partSize"`
	ETag   string `json:"etag,omitempty"`
	URL    string `json:"url,omitempty"`
}

type sessionStatus struct {
	SessionID     string              `json:"sessionId"`
	SessionStatus domain.UploadStatus `json:"sessionStatus"`
}

func toSession(s domain.UploadSession) sessionStatus {
	return sessionStatus{SessionID: s.ID, SessionStatus: s.Status}
}

type finishedFile struct {
	sessionStatus
	FileID     string              `json:"fileId"`
	FileStatus domain.UploadStatus `json:"fileStatus"`
}

type sessionFiles struct {
	sessionStatus
	Files []uploadedFile `json:"files"`
}

type uploadedFile struct {
	FileID   string `json:"fileId"`
	Filename string `json:"filename"`
	FileSize int64  `json:"fileSize"`
	S3Bucket string `json:"s3Bucket"`
	S3Key    string `json:"s3Key"`
}

func (s *Server) prepareUpload(r *request) (any, error) {
	wanted := list(r.fields(s.cfg.MaxBody), "filesToUpload", 0, "", fields.newUpload)
	if err := r.err(); err != nil {
		return nil, err
	}
	release, err := s.reserve(r, s.cfg.Uploads.PartCount(wanted)*partURLBytes)
	if err != nil {
		return nil, err
	}
	defer release()
	id, files, err := s.cfg.Uploads.Prepare(r.ctx(), r.caller, wanted)
	if err != nil {
		return nil, err
	}
	r.PureJSON(http.StatusOK, preparedSession{SessionID: id, Files: toList(files, toPreparedFile)}) // while its memory is reserved
	return nil, nil
}

// partURLBytes is the size of the URL of a part in a response, roughly.
const partURLBytes = 512

func (f fields) newUpload() domain.NewUpload {
	return domain.NewUpload{Filename: f.text("filename", domain.CheckFilename), Size: f.size("size")}
}

func (f fields) size(name string) int64 {
	size, ok := f.integer(name)
	if ok && size < 1 {
		f.check(name, "must be at least 1 byte")
	}
	return size
}

func (f fields) integer(name string) (int64, bool) { return decode[int64](f, name, "a whole number") }

func (f fields) upload() domain.UploadFile {
	return domain.UploadFile{UploadID: f.text("uploadId", notEmpty(maxKey)), Key: f.text("key", notEmpty(maxKey))}
}

func (f fields) sentParts() []domain.SentPart {
	return list(f, "parts", 0, "", func(part fields) domain.SentPart {
		number, _ := part.integer("partNumber")
		return domain.SentPart{Number: int(number), ETag: part.text("etag", notEmpty(maxKey))}
	})
}

func (s *Server) finishUpload(r *request) (any, error) {
	sessionID, fileID := r.fieldID("sessionId"), r.fieldID("fileId")
	f := r.fields(s.cfg.MaxBody)
	upload, parts := f.upload(), f.sentParts()
	if err := r.err(); err != nil {
		return nil, err
	}
	session, err := s.cfg.Uploads.Finish(r.ctx(), r.caller, sessionID, fileID, upload, parts)
	file, _ := session.File(fileID)
	return finishedFile{toSession(session), file.ID, file.Status}, err
}

func (s *Server) getUploadParts(r *request, sessionID string) (any, error) {
	fileID := pathID("fileId")(r)
	if err := r.err(); err != nil {
		return nil, err
	}
	file, parts, err := s.cfg.Uploads.Parts(r.ctx(), r.caller, sessionID, fileID)
	return fileParts{
		SessionID: sessionID, FileID: file.ID, UploadID: file.UploadID, Key: file.Key,
		Filename: file.Filename, FileSize: file.Size, FileStatus: file.Status, PartSize: file.PartSize,
		Parts: toList(parts, func(part domain.UploadPart) filePart { return filePart(part) }),
	}, err
}

func (s *Server) getUploadedFiles(r *request, id string) (any, error) {
	session, err := s.cfg.Uploads.Session(r.ctx(), r.caller, id)
	answer := sessionFiles{toSession(session), []uploadedFile{}}
	for _, file := range session.Files {
		if file.Status == domain.UploadCompleted {
			answer.Files = append(answer.Files, uploadedFile{
				FileID: file.ID, Filename: file.Filename, FileSize: file.Size, S3Bucket: s.cfg.Uploads.Bucket(), S3Key: s.cfg.Uploads.ObjectName(file.Key),
			})
		}
	}
	return answer, err
}

func (s *Server) abortUpload(r *request, id string) (any, error) {
	session, err := s.cfg.Uploads.Abort(r.ctx(), r.caller, id)
	return toSession(session), err
}

// A file can be uploaded directly into a dataset: an upload session of one file, which the
// client identifies by its key; finishing it starts the ingestion.

type preparedDatasetUpload struct {
	UploadID      string           `json:"uploadId"`
	Key           string           `json:"key"`
	PartSize      int64            `json:"partSize"`
	PresignedURLs []datasetPartURL `json:"presignedUrls"`
}

type datasetPartURL struct {
	URL  string `json:"url"`
	Size int64  `json:"size"`
}

func (s *Server) prepareDatasetUpload(r *request, ref domain.DatasetRef) (any, error) {
	wanted := r.fields(s.cfg.MaxBody).newUpload()
	wanted.Dataset = ref
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := s.mayIngest(r, ref); err != nil {
		return nil, err
	}
	_, files, err := s.cfg.Uploads.Prepare(r.ctx(), r.caller, []domain.NewUpload{wanted})
	if err != nil {
		return nil, err
	}
	file := files[0]
	urls := toList(file.Parts, func(p domain.UploadPart) datasetPartURL { return datasetPartURL{URL: p.URL, Size: p.Size} })
	return preparedDatasetUpload{UploadID: file.UploadID, Key: file.Key, PartSize: file.PartSize, PresignedURLs: urls}, nil
}

// mayIngest checks before an upload whether its ingestion would be allowed. A dataset of
// the caller's own need not exist yet.
func (s *Server) mayIngest(r *request, ref domain.DatasetRef) error {
	data, err := s.cfg.Store.DatasetData(r.ctx(), r.caller, ref)
	switch {
	case errors.Is(err, domain.ErrNotFound) && ref.Owner == r.caller.Username:
		return s.cfg.Store.MayCreateDataset(r.ctx(), r.caller, ref.Namespace)
	case err != nil:
		return err
	}
	return data.MayEdit()
}

func (s *Server) finishDatasetUpload(r *request, ref domain.DatasetRef) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	upload, parts := f.upload(), f.sentParts()
	name := f.optionalText("name", "", notEmpty(maxKey))
	patch, options := f.definition(), f.ingestOptions()
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := s.mayIngest(r, ref); err != nil {
		return nil, err
	}
	file, err := s.cfg.Store.DatasetUpload(r.ctx(), r.caller, ref, upload.Key)
	if err != nil {
		return nil, err
	}
	if _, err := s.cfg.Uploads.Finish(r.ctx(), r.caller, file.SessionID, file.FileID, upload, parts); err != nil {
		return nil, err
	}
	created, err := s.beginIngestion(r, ref, domain.NewIngestion{
		ID: derivedID(file.FileID, "ingestion"), Name: name, Mode: domain.IngestAppend, Files: []domain.IngestFile{file}, Options: options, Define: &patch,
	})
	if errors.Is(err, domain.ErrConflict) {
		err = domain.Errorf(domain.ErrConflict, "the upload was finished before, and the dataset that its rows went to has another name now")
	}
	return created, err
}

func (s *Server) abortDatasetUpload(r *request, ref domain.DatasetRef) (any, error) {
	upload := r.fields(s.cfg.MaxBody).upload()
	if err := r.err(); err != nil {
		return nil, err
	}
	file, err := s.cfg.Store.DatasetUpload(r.ctx(), r.caller, ref, upload.Key)
	if err != nil {
		return nil, err
	}
	session, err := s.cfg.Uploads.Session(r.ctx(), r.caller, file.SessionID)
	if err != nil {
		return nil, err
	}
	if found, _ := session.File(file.FileID); found.UploadID != upload.UploadID {
		return nil, domain.ErrNotFound
	}
	_, err = s.cfg.Uploads.Abort(r.ctx(), r.caller, file.SessionID)
	return nil, err
}
