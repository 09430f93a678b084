package rest

import (
	"errors"

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

func (s *Server) prepareDatasetUpload(r *request, ref storage.DatasetRef) (any, error) {
	wanted := r.fields(s.cfg.MaxBody).newUpload()
	wanted.Dataset = ref
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := s.mayIngest(r, ref); err != nil {
		return nil, err
	}
	_, files, err := s.cfg.Uploads.Prepare(r.ctx(), r.caller, []storage.NewUpload{wanted})
	if err != nil {
		return nil, err
	}
	file := files[0]
	urls := toList(file.Parts, func(p storage.UploadPart) datasetPartURL { return datasetPartURL{URL: p.URL, Size: p.Size} })
	return preparedDatasetUpload{UploadID: file.UploadID, Key: file.Key, PartSize: file.PartSize, PresignedURLs: urls}, nil
}

// mayIngest checks before an upload whether its ingestion would be allowed. A dataset of
// the caller's own need not exist yet.
func (s *Server) mayIngest(r *request, ref storage.DatasetRef) error {
	data, err := s.cfg.Store.DatasetData(r.ctx(), r.caller, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound) && ref.Owner == r.caller.Username:
		return s.cfg.Store.MayCreateDataset(r.ctx(), r.caller, ref.Namespace)
	case err != nil:
		return err
	}
	return data.MayEdit()
}

func (s *Server) finishDatasetUpload(r *request, ref storage.DatasetRef) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	upload, parts := f.upload(), f.sentParts()
	name := f.optionalText("name", "", notEmpty(maxKey))
	patch := f.definition()
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
	created, err := s.beginIngestion(r, ref, storage.NewIngestion{
		ID: derivedID(file.FileID, "ingestion"), Name: name, Mode: storage.IngestAppend, Files: []storage.IngestFile{file}, Define: &patch,
	})
	if errors.Is(err, storage.ErrConflict) {
		err = storage.Errorf(storage.ErrConflict, "the upload was finished before, and the dataset that its rows went to has another name now")
	}
	return created, err
}

func (s *Server) abortDatasetUpload(r *request, ref storage.DatasetRef) (any, error) {
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
		return nil, storage.ErrNotFound
	}
	_, err = s.cfg.Uploads.Abort(r.ctx(), r.caller, file.SessionID)
	return nil, err
}
