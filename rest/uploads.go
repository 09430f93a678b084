package rest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// maxKey limits keys, upload ids and ETags, in characters.
const maxKey = 1024

// Uploads runs upload sessions.
type Uploads interface {
	Prepare(ctx context.Context, caller storage.Caller, wanted []storage.NewUpload) (sessionID string, files []storage.PreparedUpload, err error)
	Session(ctx context.Context, caller storage.Caller, id string) (storage.UploadSession, error)
	Finish(ctx context.Context, caller storage.Caller, sessionID, fileID string, upload storage.UploadFile, parts []storage.SentPart) (storage.UploadSession, error)
	Parts(ctx context.Context, caller storage.Caller, sessionID, fileID string) (storage.UploadFile, []storage.UploadPart, error)
	Abort(ctx context.Context, caller storage.Caller, id string) (storage.UploadSession, error)
	// Bucket is the name of the bucket, ObjectName the name of a key in it.
	Bucket() string
	ObjectName(key string) string
}

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
	URL      string `json:"url"`
	PartSize int64  `json:"partSize"`
}

func toPreparedFile(f storage.PreparedUpload) preparedFile {
	file := preparedFile{
		FileID:        f.ID,
		UploadID:      f.UploadID,
		Key:           f.Key,
		Filename:      f.Filename,
		PartSize:      f.PartSize,
		PresignedURLs: make([]partURL, len(f.Parts)),
	}
	for i, part := range f.Parts {
		file.PresignedURLs[i] = partURL{URL: part.URL, PartSize: part.Size}
	}
	return file
}

type fileParts struct {
	SessionID  string               `json:"sessionId"`
	FileID     string               `json:"fileId"`
	UploadID   string               `json:"uploadId"`
	Key        string               `json:"key"`
	Filename   string               `json:"filename"`
	FileSize   int64                `json:"fileSize"`
	FileStatus storage.UploadStatus `json:"fileStatus"`
	PartSize   int64                `json:"partSize"`
	Parts      []filePart           `json:"parts"`
}

// filePart has the ETag of a stored part, or the URL of a missing one.
type filePart struct {
	PartNumber int    `json:"partNumber"`
	PartSize   int64  `json:"partSize"`
	ETag       string `json:"etag,omitempty"`
	URL        string `json:"url,omitempty"`
}

func toFileParts(sessionID string, file storage.UploadFile, parts []storage.UploadPart) fileParts {
	answer := fileParts{
		SessionID: sessionID, FileID: file.ID, UploadID: file.UploadID, Key: file.Key,
		Filename: file.Filename, FileSize: file.Size, FileStatus: file.Status, PartSize: file.PartSize,
		Parts: make([]filePart, len(parts)),
	}
	for i, part := range parts {
		answer.Parts[i] = filePart{PartNumber: part.Number, PartSize: part.Size, ETag: part.ETag, URL: part.URL}
	}
	return answer
}

type sessionStatus struct {
	SessionID     string               `json:"sessionId"`
	SessionStatus storage.UploadStatus `json:"sessionStatus"`
}

type finishedFile struct {
	SessionID     string               `json:"sessionId"`
	SessionStatus storage.UploadStatus `json:"sessionStatus"`
	FileID        string               `json:"fileId"`
	FileStatus    storage.UploadStatus `json:"fileStatus"`
}

type sessionFiles struct {
	SessionID     string               `json:"sessionId"`
	SessionStatus storage.UploadStatus `json:"sessionStatus"`
	Files         []uploadedFile       `json:"files"`
}

type uploadedFile struct {
	FileID   string `json:"fileId"`
	Filename string `json:"filename"`
	FileSize int64  `json:"fileSize"`
	S3Bucket string `json:"s3Bucket"`
	S3Key    string `json:"s3Key"`
}

func (s *Server) prepareUpload(c *gin.Context, caller storage.Caller) error {
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	if !f.has("filesToUpload") {
		f.refuse("filesToUpload", "is required")
	}
	objects := f.objects("filesToUpload")
	wanted := make([]storage.NewUpload, len(objects))
	for i, object := range objects {
		if object.members == nil {
			continue
		}
		wanted[i].Filename = object.checkedText("filename", storage.CheckFilename)
		wanted[i].Size = object.size("size")
	}
	if err := f.err(); err != nil {
		return err
	}
	id, files, err := s.cfg.Uploads.Prepare(c.Request.Context(), caller, wanted)
	if err != nil {
		return err
	}
	answer := preparedSession{SessionID: id, Files: make([]preparedFile, len(files))}
	for i, file := range files {
		answer.Files[i] = toPreparedFile(file)
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

// integer reads a required integer.
func (f fields) integer(name string) int64 {
	var number int64
	switch {
	case !f.has(name):
		f.refuse(name, "is required")
	case json.Unmarshal(f.members[name], &number) != nil:
		f.refuse(name, "must be a whole number")
	}
	return number
}

// size reads a required number of bytes.
func (f fields) size(name string) int64 {
	before := len(*f.wrong)
	size := f.integer(name)
	if size < 1 && len(*f.wrong) == before {
		f.refuse(name, "must be at least 1 byte")
	}
	return size
}

// upload reads the key and id of an upload.
func (f fields) upload() storage.UploadFile {
	return storage.UploadFile{UploadID: f.checkedText("uploadId", notEmpty), Key: f.checkedText("key", notEmpty)}
}

func notEmpty(text string) string {
	if text == "" {
		return "must not be empty"
	}
	return storage.CheckText(text, maxKey)
}

// sentParts reads the parts that a client has sent.
func (f fields) sentParts() []storage.SentPart {
	if !f.has("parts") {
		f.refuse("parts", "is required")
	}
	objects := f.objects("parts")
	parts := make([]storage.SentPart, len(objects))
	for i, object := range objects {
		if object.members != nil {
			parts[i] = storage.SentPart{Number: int(object.integer("partNumber")), ETag: object.checkedText("etag", notEmpty)}
		}
	}
	return parts
}

func (s *Server) finishUpload(c *gin.Context, caller storage.Caller) error {
	ids, err := bodyIDs(c, "sessionId", "fileId")
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	upload, parts := f.upload(), f.sentParts()
	if err := f.err(); err != nil {
		return err
	}
	session, err := s.cfg.Uploads.Finish(c.Request.Context(), caller, ids[0], ids[1], upload, parts)
	if err != nil {
		return err
	}
	file, _ := session.File(ids[1])
	c.PureJSON(http.StatusOK, finishedFile{
		SessionID: session.ID, SessionStatus: session.Status, FileID: file.ID, FileStatus: file.Status,
	})
	return nil
}

// bodyIDs reads the ids in the path of an operation with a body, where an invalid id is
// ErrInvalid.
func bodyIDs(c *gin.Context, names ...string) ([]string, error) {
	p := &path{Context: c}
	ids := make([]string, len(names))
	for i, name := range names {
		id, err := pathID(c, name)
		if err != nil {
			p.check(name, "must be a UUID")
		}
		ids[i] = id
	}
	return ids, p.err()
}

func (s *Server) getUploadParts(c *gin.Context, caller storage.Caller) error {
	sessionID, err := pathID(c, "sessionId")
	if err != nil {
		return err
	}
	fileID, err := pathID(c, "fileId")
	if err != nil {
		return err
	}
	file, parts, err := s.cfg.Uploads.Parts(c.Request.Context(), caller, sessionID, fileID)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, toFileParts(sessionID, file, parts))
	return nil
}

func (s *Server) getUploadedFiles(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "sessionId")
	if err != nil {
		return err
	}
	session, err := s.cfg.Uploads.Session(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	answer := sessionFiles{SessionID: session.ID, SessionStatus: session.Status, Files: []uploadedFile{}}
	for _, file := range session.Files {
		if file.Status == storage.UploadCompleted {
			answer.Files = append(answer.Files, uploadedFile{
				FileID: file.ID, Filename: file.Filename, FileSize: file.Size, S3Bucket: s.cfg.Uploads.Bucket(), S3Key: s.cfg.Uploads.ObjectName(file.Key),
			})
		}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func (s *Server) abortUpload(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "sessionId")
	if err != nil {
		return err
	}
	session, err := s.cfg.Uploads.Abort(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, sessionStatus{SessionID: session.ID, SessionStatus: session.Status})
	return nil
}
