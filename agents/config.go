package agents

import (
	"context"
	"log/slog"
	"time"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/llm"
)

// Lake reads the datasets of a scope that the caller may read.
type Lake interface {
	// Attach makes datasets of the files that a run brought. A file that cannot be read is
	// ErrInvalid.
	Attach(ctx context.Context, caller domain.Caller, runID string) error
	// Datasets lists those that the caller may read. ErrNotFound when the namespace is not
	// visible to the caller, or there is nothing to read.
	Datasets(ctx context.Context, caller domain.Caller, in domain.DataScope) ([]domain.DatasetData, error)
	// LinksBetween returns the usable links between what Datasets gave the caller shortly before,
	// declared ones first. The namespace may be missing.
	LinksBetween(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, datasets []domain.DatasetData) ([]domain.MeasuredLink, error)
	// QueryGuarded runs one SELECT that a job wrote, after the join guard, which may rewrite
	// it and says in notes what it did. One that is invalid or refused is ErrInvalid.
	QueryGuarded(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string) (domain.QueryResult, error)
	// QueryOver runs one SELECT as it is, over what Datasets gave the caller shortly before.
	QueryOver(ctx context.Context, caller domain.Caller, datasets []domain.DatasetData, sql string) (domain.QueryResult, error)
	// Search returns the passages of a dataset that match some words best. An invalid request
	// is ErrInvalid.
	Search(ctx context.Context, caller domain.Caller, in domain.DataScope, dataset, words string, limit int) (domain.QueryResult, error)
}

// Memory reads the earlier turns of a conversation.
type Memory interface {
	// RecentTurns returns the last completed turns, at most limit, latest first, without
	// results that are larger than domain.InlineResult.
	RecentTurns(ctx context.Context, caller domain.Caller, conversationID string, limit int) ([]domain.Run, error)
	// Run returns the run of a turn, with its whole result; ErrNotFound when it was
	// deleted.
	Run(ctx context.Context, caller domain.Caller, id string) (domain.Run, error)
}

// Verified finds the query that was verified for a question: sqlstore.Store describes
// it.
type Verified interface {
	VerifiedQuery(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, question string) (domain.SavedQuery, error)
}

// Feedback stores how the user rates a completed run.
type Feedback interface {
	Rate(ctx context.Context, caller domain.Caller, rating domain.Rating) error
}

// Models returns the model that does the jobs; "" and "" for the default.
type Models interface {
	Jobs(provider, model string) (llm.Jobs, error)
}

// Tracer traces the calls of an agent. The function that it returns ends the span.
type Tracer interface {
	Model(ctx context.Context, job string) (context.Context, func(llm.Usage, error))
	Tool(ctx context.Context, name string) (context.Context, func(error))
}

// Config has the dependencies of an agent.
type Config struct {
	Lake   Lake
	Memory Memory
	Models Models
	// Verified has the verified queries of questions; nil for none.
	Verified Verified
	// Feedback gets the readings that users choose in place of likely ones; nil for nowhere.
	Feedback Feedback
	// Profiles have the units of numbers; nil for none.
	Profiles Profiles
	// Log gets the causes of failures, which readers of a run do not see.
	Log    *slog.Logger
	Tracer Tracer
	// Now is time.Now by default.
	Now func() time.Time
	// JobTimeout limits one job of a model. Queries have their own limit.
	JobTimeout time.Duration
	// RetryTimeout is how long reads of the data are retried while it is unavailable; not
	// at all by default.
	RetryTimeout time.Duration

	// units are set by withDefaults.
	units *lru.Cache[string, map[string]string]
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	c.units = newUnitCache()
	return c
}
