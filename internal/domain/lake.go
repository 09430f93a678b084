package domain

import (
	"context"
	"time"
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
	// Units are those of the columns of an attachment, which is in no namespace; others have
	// a profile.
	Units map[string]string
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

// Attachments keeps the files that questions brought. They are added with the run: see
// Question.
type Attachments interface {
	// ConversationData returns the datasets of the caller's conversation, of several with one
	// name the last.
	ConversationData(ctx context.Context, caller Caller, conversationID string) ([]DatasetData, error)
	// CountAttachments counts the files of a conversation.
	CountAttachments(ctx context.Context, caller Caller, conversationID string) (int, error)
	// PendingAttachments returns the files of a run that have no datasets yet, in order.
	PendingAttachments(ctx context.Context, caller Caller, runID string) ([]Attachment, error)
	// CommitAttachment makes the datasets of a file visible, whose files were listed as
	// orphaned before they were written. ErrConflict when it has some, ErrNotFound when it
	// was deleted.
	CommitAttachment(ctx context.Context, caller Caller, id string, datasets []DatasetData) error
	// OrphanAttachments lists the objects of deleted attachments as orphaned.
	OrphanAttachments(ctx context.Context) error
}

// Lake keeps which files make up which dataset.
type Lake interface {
	// DatasetData is for those who may read the dataset.
	DatasetData(ctx context.Context, caller Caller, ref DatasetRef) (DatasetData, error)
	// DatasetDataByID is DatasetData for one that was found before.
	DatasetDataByID(ctx context.Context, caller Caller, id string) (DatasetData, error)
	// NamespaceData returns all of a namespace's datasets that the caller may
	// read. ErrNotFound when the caller may not see the namespace.
	NamespaceData(ctx context.Context, caller Caller, ref NamespaceRef) ([]DatasetData, error)
	// CommitVersion makes a change visible, all of it or nothing. ErrNotFound
	// when the dataset is gone.
	CommitVersion(ctx context.Context, change VersionChange) error

	// UnnamedObjects returns those of some objects that no dataset or attachment names now.
	UnnamedObjects(ctx context.Context, keys []string) ([]string, error)
	// AddOrphanedObjects lists objects that are to be written; they are removed
	// when no version names them that long from now. A second call extends the time.
	AddOrphanedObjects(ctx context.Context, keys []string, lasts time.Duration) error
	// OrphanedObjects lists at most limit that are to be removed within that long
	// from now; none while a process copies objects.
	OrphanedObjects(ctx context.Context, within time.Duration, limit int) ([]string, error)
	// ForgetOrphanedObject says that one has been removed.
	ForgetOrphanedObject(ctx context.Context, key string) error
}
