package domain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// UploadStatus says how far an upload session, or a file in one, is.
type UploadStatus string

// The states of a session and of a file. A session is completed when its last
// file is.
const (
	UploadPreparing UploadStatus = "preparing"
	UploadCompleted UploadStatus = "completed"
	UploadAborted   UploadStatus = "aborted"
)

// MaxOpenUploads is how many files one user may be uploading.
const MaxOpenUploads = 1000

// UploadSession is some files that a user is uploading together.
type UploadSession struct {
	ID     string
	Status UploadStatus
	Files  []UploadFile
}

// UploadFile is a file that is uploaded in parts of PartSize bytes, the last
// one smaller.
type UploadFile struct {
	ID       string
	Filename string
	Size     int64
	PartSize int64
	// Key is where the bytes go, UploadID what the object store calls the
	// upload.
	Key      string
	UploadID string
	Status   UploadStatus
	// Dataset is the one that the file was prepared for, zero for none. Only
	// CreateUploadSession reads it.
	Dataset DatasetRef
}

// File finds a file of the session.
func (s UploadSession) File(id string) (UploadFile, bool) {
	for _, file := range s.Files {
		if file.ID == id {
			return file, true
		}
	}
	return UploadFile{}, false
}

// NewUpload is a file to upload.
type NewUpload struct {
	Filename string
	Size     int64
	// Dataset is the dataset of the file; zero if it is named later.
	Dataset DatasetRef
}

// PreparedUpload is a file with its parts, in order.
type PreparedUpload struct {
	UploadFile
	Parts []UploadPart
}

// UploadPart is a part of a file that is being uploaded: a received part has its ETag, a
// missing one the URL to send it to.
type UploadPart struct {
	Number int
	Size   int64
	ETag   string
	URL    string
}

// SentPart names a part by what its sender was answered.
type SentPart struct {
	Number int
	ETag   string
}

// maxFilename is the most bytes of a file's name, as most file systems have it.
const maxFilename = 255

// CheckFilename returns what is wrong with the name of an uploaded file, ""
// when it is right. It is a name, not a path.
func CheckFilename(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "must not be empty"
	case len(name) > maxFilename:
		return fmt.Sprintf("must be at most %d bytes", maxFilename)
	case !utf8.ValidString(name):
		return "must be UTF-8"
	case name == ".", strings.Contains(name, ".."), strings.ContainsAny(name, `/\`), strings.ContainsFunc(name, unicode.IsControl):
		return `must be a plain file name, without '/', '\', '..' or control characters`
	}
	return ""
}
