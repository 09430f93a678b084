package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// DataFile is an immutable file that holds some rows of a dataset.
type DataFile struct {
	ID     string
	Key    string
	Rows   int64
	Bytes  int64
	SHA256 string
}

// DatasetData is a dataset at one moment, with the files that hold its rows.
type DatasetData struct {
	ID      string
	Version int64
	Dataset
	// Access is what the caller may do to the dataset.
	Access
	Files []DataFile
	// RowFilter is an SQL condition for the rows that the caller may see; "" for all.
	RowFilter string
	// Units are those of the columns of an attachment, which is in no namespace; others have
	// a profile.
	Units map[string]string
}

// Contents names the rows that the caller sees: it changes when they may.
func (d DatasetData) Contents() string {
	name := d.ID + "/" + strconv.FormatInt(d.Version, 10)
	if d.RowFilter != "" {
		hash := sha256.Sum256([]byte(d.RowFilter))
		name += "/" + hex.EncodeToString(hash[:])
	}
	return name
}

// Source names the version of the dataset, for a receipt. Whoever sees only some rows does not learn
// from it when others change, nor guesses them by a hash.
func (d DatasetData) Source() Source {
	name := d.Name
	if d.Namespace != "" {
		name = d.Owner + "/" + d.Namespace + "/" + d.Name
	}
	if d.RowFilter != "" {
		return Source{Dataset: name}
	}
	hash := sha256.New()
	for _, file := range d.Files {
		hash.Write([]byte(file.SHA256))
	}
	return Source{name, d.Version, hex.EncodeToString(hash.Sum(nil))}
}

// VersionChange makes a new version of a dataset.
type VersionChange struct {
	// Caller is on whose behalf it is made: the dataset's owner or an editor.
	Caller    Caller
	DatasetID string
	// Have are the columns that the change was made for: where the dataset has
	// others by now, the change is ErrConflict. Replace needs none.
	Have []Column
	// Columns are those from now on.
	Columns []Column
	// Add are files that were listed as orphaned before they were written.
	Add []DataFile
	// Replace drops all files there are, Drop those named.
	Replace bool
	Drop    []DataFile
	// Profile is that of the files in Add; nil when it is not known.
	Profile *Profile
	// Ingestion is the one that this completes; nil for none.
	Ingestion *IngestionEnd
}

// DataScope is what a question may read: the datasets of a namespace and the files that are
// attached to its conversation. Either may be missing.
type DataScope struct {
	Namespace NamespaceRef
	// ConversationID is a conversation of the caller's; "" for none.
	ConversationID string
}

// Limits of attachments.
const (
	// MaxMessageAttachments is how many one message may have.
	MaxMessageAttachments = 10
	// MaxConversationAttachments is how many one conversation may have.
	MaxConversationAttachments = 100
)

// AttachedFile is a file that a question brings.
type AttachedFile struct {
	Filename string
	// Dataset is the name of the dataset that it becomes.
	Dataset string
	Content []byte
}

// Attachment is a file that a question brought, as it is stored. It becomes datasets that
// only the user's questions in the same conversation read, and is deleted with the
// conversation.
type Attachment struct {
	ID       string
	Filename string
	Dataset  string
	// Key is the object that holds the file.
	Key   string
	Bytes int64
}
