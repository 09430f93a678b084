package storage

import "context"

// Store keeps all records.
type Store interface {
	Namespaces
	Datasets
	Shares
	Conversations
	Runs
	Tasks
	Hosts
	PushConfigs
	PushOutbox
	Ratings
	Tokens
	Uploads
	Ingestions
	Lake
	Chores

	// Ping reports whether the store can be reached.
	Ping(ctx context.Context) error
	Close() error
}
