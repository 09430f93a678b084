package agents

import (
	"context"
	"log/slog"
	"time"

	"parley/llm"
	"parley/storage"
)

// Lake reads the datasets of a namespace, as far as a caller may.
type Lake interface {
	// Datasets gives those that the caller may read. ErrNotFound when the caller
	// may not see the namespace.
	Datasets(ctx context.Context, caller storage.Caller, in storage.NamespaceRef) ([]storage.DatasetData, error)
	// Query runs one SELECT. What is wrong with it is ErrInvalid.
	Query(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, sql string) (storage.QueryResult, error)
	// QueryOver is Query over what Datasets gave the caller shortly before.
	QueryOver(ctx context.Context, caller storage.Caller, datasets []storage.DatasetData, sql string) (storage.QueryResult, error)
	// Search gives the passages of a dataset that match some words best. What is
	// wrong with the request is ErrInvalid.
	Search(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, dataset, words string, limit int) (storage.QueryResult, error)
}

// Memory gives what was asked before in a conversation.
type Memory interface {
	// RecentTurns gives the last completed turns, at most limit, latest first, without
	// results that are larger than storage.InlineResult.
	RecentTurns(ctx context.Context, caller storage.Caller, conversationID string, limit int) ([]storage.Turn, error)
	// Run gives the run of a turn, with its whole result; ErrNotFound when it was
	// deleted.
	Run(ctx context.Context, caller storage.Caller, id string) (storage.Run, error)
}

// Models gives who does the jobs of language; "" and "" for the default.
type Models interface {
	Jobs(provider, model string) (llm.Jobs, error)
}

// Tracer is told what an agent has others do. What it returns is called once,
// when that is done.
type Tracer interface {
	Model(ctx context.Context, job string) (context.Context, func(llm.Usage, error))
	Tool(ctx context.Context, name string) (context.Context, func(error))
}

// Config is what an agent needs. Log, Tracer, Now and JobTimeout may be left
// out.
type Config struct {
	Lake   Lake
	Memory Memory
	Models Models
	// Log gets what a reader of a run is not told.
	Log    *slog.Logger
	Tracer Tracer
	Now    func() time.Time
	// JobTimeout is how long a model may take for one job; two minutes by
	// default. Queries have the lake's own limit.
	JobTimeout time.Duration
	// RetryTimeout is how long the data may be away before a run fails for it; not at
	// all by default.
	RetryTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Tracer == nil {
		c.Tracer = noTracer{}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.JobTimeout <= 0 {
		c.JobTimeout = 2 * time.Minute
	}
	return c
}

type noTracer struct{}

func (noTracer) Model(ctx context.Context, _ string) (context.Context, func(llm.Usage, error)) {
	return ctx, func(llm.Usage, error) {}
}

func (noTracer) Tool(ctx context.Context, _ string) (context.Context, func(error)) {
	return ctx, func(error) {}
}
