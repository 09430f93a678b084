package rest

import (
	"context"
	"iter"
	"time"

	"parley/internal/domain"
)

// Store has the records that the interface reads and changes. Package sqlstore
// describes the methods: each one checks whether the caller may do it.
type Store interface {
	Pinger
	domain.SavedQueries
	domain.RunShares
	DatasetUpload(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, key string) (domain.IngestFile, error)

	Namespaces(ctx context.Context, caller domain.Caller, owner string) ([]domain.NamespaceRef, error)
	RenameNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, name string) error
	DeleteNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, withDatasets bool) error

	CreateDataset(ctx context.Context, caller domain.Caller, namespace, name string, definition domain.Definition) error
	MayCreateDataset(ctx context.Context, caller domain.Caller, namespace string) error
	Dataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.Dataset, error)
	DatasetData(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetData, error)
	Profile(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error)
	Datasets(ctx context.Context, caller domain.Caller) ([]domain.Dataset, error)
	NamespaceDatasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.Dataset, error)
	DescribedDatasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, maxBytes int) ([]domain.Dataset, error)
	UpdateDefinition(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, patch domain.DefinitionPatch) error
	SetLinks(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, links []domain.Link) error
	ClearDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) error
	RenameDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, name string) error
	DeleteDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) error

	NamespaceShares(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.Grant, error)
	ShareNamespace(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, grant domain.Grant) error
	RevokeNamespaceShare(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, username string) error
	DatasetShares(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) ([]domain.Grant, error)
	ShareDataset(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, grant domain.Grant) error
	RevokeDatasetShare(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, username string) error

	StartIngestion(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, ingestion domain.NewIngestion) error
	Ingestions(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, before time.Time, limit int) ([]domain.Ingestion, error)
	RetryIngestion(ctx context.Context, caller domain.Caller, id, newID string) error
	MarkIngestionSeen(ctx context.Context, caller domain.Caller, id string) error

	Conversations(ctx context.Context, caller domain.Caller, in domain.NamespaceRef) ([]domain.Conversation, error)
	Conversation(ctx context.Context, caller domain.Caller, id string, page domain.TurnPage) (string, iter.Seq2[domain.Run, error], error)
	RenameConversation(ctx context.Context, caller domain.Caller, id, title string) error
	DeleteConversation(ctx context.Context, caller domain.Caller, id string) error

	Run(ctx context.Context, caller domain.Caller, id string) (domain.Run, error)
	ResultBytes(ctx context.Context, caller domain.Caller, id string) (int, error)
	MayDeleteRun(ctx context.Context, caller domain.Caller, id string) error
	DeleteRun(ctx context.Context, caller domain.Caller, id string) error

	CreateToken(ctx context.Context, caller domain.Caller, token domain.NewToken) error
	Tokens(ctx context.Context, caller domain.Caller) ([]domain.Token, error)
	Token(ctx context.Context, caller domain.Caller, id string) (domain.Token, error)
	DeleteToken(ctx context.Context, caller domain.Caller, id string) error
}
