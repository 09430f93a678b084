package rest

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

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

func (s *Server) prepareDatasetUpload(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	wanted := storage.NewUpload{Filename: f.checkedText("filename", storage.CheckFilename), Size: f.size("size"), Dataset: ref}
	if err := f.err(); err != nil {
		return err
	}
	if err := s.mayIngest(c, caller, ref); err != nil {
		return err
	}
	_, files, err := s.cfg.Uploads.Prepare(c.Request.Context(), caller, []storage.NewUpload{wanted})
	if err != nil {
		return err
	}
	file := files[0]
	answer := preparedDatasetUpload{UploadID: file.UploadID, Key: file.Key, PartSize: file.PartSize}
	for _, part := range file.Parts {
		answer.PresignedURLs = append(answer.PresignedURLs, datasetPartURL{URL: part.URL, Size: part.Size})
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

// mayIngest checks before an upload whether its ingestion would be allowed. A dataset of
// the caller's own need not exist yet.
func (s *Server) mayIngest(c *gin.Context, caller storage.Caller, ref storage.DatasetRef) error {
	data, err := s.cfg.Store.DatasetData(c.Request.Context(), caller, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound) && ref.Owner == caller.Username:
		return s.cfg.Store.MayCreateDataset(c.Request.Context(), caller, ref.Namespace)
	case err != nil:
		return err
	}
	return data.MayEdit()
}

func (s *Server) finishDatasetUpload(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	upload, parts := f.upload(), f.sentParts()
	name := ""
	if f.has("name") {
		name = f.checkedText("name", notEmpty)
	}
	patch, err := f.definition()
	if err != nil {
		return err
	}
	if err := s.mayIngest(c, caller, ref); err != nil {
		return err
	}
	file, err := s.cfg.Store.DatasetUpload(c.Request.Context(), caller, ref, upload.Key)
	if err != nil {
		return err
	}
	if _, err := s.cfg.Uploads.Finish(c.Request.Context(), caller, file.SessionID, file.FileID, upload, parts); err != nil {
		return err
	}
	ingestion := storage.NewIngestion{
		ID: derivedID(file.FileID, "ingestion"), Name: name, Mode: storage.IngestAppend, Files: []storage.IngestFile{file}, Define: &patch,
	}
	err = s.beginIngestion(c, caller, ref, ingestion, http.StatusCreated)
	if errors.Is(err, storage.ErrConflict) {
		err = storage.Errorf(storage.ErrConflict, "the upload was finished before, and the dataset that its rows went to has another name now")
	}
	return err
}

func (s *Server) abortDatasetUpload(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	upload := f.upload()
	if err := f.err(); err != nil {
		return err
	}
	file, err := s.cfg.Store.DatasetUpload(c.Request.Context(), caller, ref, upload.Key)
	if err != nil {
		return err
	}
	session, err := s.cfg.Uploads.Session(c.Request.Context(), caller, file.SessionID)
	if err != nil {
		return err
	}
	if found, _ := session.File(file.FileID); found.UploadID != upload.UploadID {
		return storage.ErrNotFound
	}
	_, err = s.cfg.Uploads.Abort(c.Request.Context(), caller, file.SessionID)
	return err
}
