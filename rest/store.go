package rest

import (
	"context"
	"iter"
	"time"

	"parley/storage"
)

// Store has the records that the interface reads and changes. Package sqlstore
// describes the methods: each one checks whether the caller may do it.
type Store interface {
	Pinger
	storage.SavedQueries
	storage.RunShares
	DatasetUpload(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, key string) (storage.IngestFile, error)

	Namespaces(ctx context.Context, caller storage.Caller, owner string) ([]storage.NamespaceRef, error)
	RenameNamespace(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, name string) error
	DeleteNamespace(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, withDatasets bool) error

	CreateDataset(ctx context.Context, caller storage.Caller, namespace, name string, definition storage.Definition) error
	MayCreateDataset(ctx context.Context, caller storage.Caller, namespace string) error
	Dataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) (storage.Dataset, error)
	DatasetData(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) (storage.DatasetData, error)
	Profile(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) (storage.DatasetProfile, error)
	Datasets(ctx context.Context, caller storage.Caller) ([]storage.Dataset, error)
	NamespaceDatasets(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef) ([]storage.Dataset, error)
	DescribedDatasets(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, maxBytes int) ([]storage.Dataset, error)
	UpdateDefinition(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, patch storage.DefinitionPatch) error
	SetLinks(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, links []storage.Link) error
	ClearDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) error
	RenameDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, name string) error
	DeleteDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) error

	NamespaceShares(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef) ([]storage.Grant, error)
	ShareNamespace(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, grant storage.Grant) error
	RevokeNamespaceShare(ctx context.Context, caller storage.Caller, ref storage.NamespaceRef, username string) error
	DatasetShares(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) ([]storage.Grant, error)
	ShareDataset(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, grant storage.Grant) error
	RevokeDatasetShare(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, username string) error

	StartIngestion(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, ingestion storage.NewIngestion) error
	Ingestions(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, before time.Time, limit int) ([]storage.Ingestion, error)
	RetryIngestion(ctx context.Context, caller storage.Caller, id, newID string) error
	MarkIngestionSeen(ctx context.Context, caller storage.Caller, id string) error

	Conversations(ctx context.Context, caller storage.Caller, in storage.NamespaceRef) ([]storage.Conversation, error)
	Conversation(ctx context.Context, caller storage.Caller, id string, page storage.TurnPage) (string, iter.Seq2[storage.Run, error], error)
	RenameConversation(ctx context.Context, caller storage.Caller, id, title string) error
	DeleteConversation(ctx context.Context, caller storage.Caller, id string) error

	Run(ctx context.Context, caller storage.Caller, id string) (storage.Run, error)
	ResultBytes(ctx context.Context, caller storage.Caller, id string) (int, error)
	MayDeleteRun(ctx context.Context, caller storage.Caller, id string) error
	DeleteRun(ctx context.Context, caller storage.Caller, id string) error

	CreateToken(ctx context.Context, caller storage.Caller, token storage.NewToken) error
	Tokens(ctx context.Context, caller storage.Caller) ([]storage.Token, error)
	Token(ctx context.Context, caller storage.Caller, id string) (storage.Token, error)
	DeleteToken(ctx context.Context, caller storage.Caller, id string) error
}
