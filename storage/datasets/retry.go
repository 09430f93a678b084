package datasets

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parley/internal/domain"
	"parley/internal/retry"
)

const (
	// retryTimeout limits one outage of records or objects, retryInterval is the pause
	// between attempts.
	retryTimeout  = 10 * time.Minute
	retryInterval = time.Second
	// maxOutages limits the outages in one call.
	maxOutages = 5
)

// retryWhileUnavailable repeats a call while records or objects are unavailable. The time
// counts from the first failure; one after a call longer than retryTimeout is another outage.
func retryWhileUnavailable(ctx context.Context, log *slog.Logger, call func() error) error {
	outages := 0
	attempts := retry.New(retry.Policy{
		Initial: retryInterval, Max: retryInterval, Timeout: retryTimeout,
		Retryable: func(err error) bool { return unavailable(err) && outages <= maxOutages },
	})
	return attempts.Do(ctx, func() error {
		start := time.Now()
		err := call()
		if unavailable(err) && (outages == 0 || time.Since(start) > retryTimeout) {
			outages++
			attempts.Reset()
			log.WarnContext(ctx, "ingestion retry scheduled", "error", err)
		}
		return err
	})
}

// unavailable reports an outage of records or objects: ErrUnavailable without a message
// for the user.
func unavailable(err error) bool {
	var known *domain.Error
	return errors.Is(err, domain.ErrUnavailable) && !errors.As(err, &known)
}

// retrying is d with records and objects that retry each call by itself, so that an
// ingestion keeps its results through an outage.
func (d *Datasets) retrying(log *slog.Logger) *Datasets {
	retrying := *d
	retrying.config.Records, retrying.config.Objects = retryingRecords{d.config.Records, log}, retryingObjects{d.config.Objects, log}
	return &retrying
}

// retryingRecords retries calls. One without an answer may have taken effect.
type retryingRecords struct {
	Records
	log *slog.Logger
}

func (r retryingRecords) DatasetDataByID(ctx context.Context, caller domain.Caller, id string) (data domain.DatasetData, err error) {
	err = retryWhileUnavailable(ctx, r.log, func() error {
		data, err = r.Records.DatasetDataByID(ctx, caller, id)
		return err
	})
	return data, err
}

func (r retryingRecords) AddOrphanedObjects(ctx context.Context, keys []string, lasts time.Duration) error {
	return retryWhileUnavailable(ctx, r.log, func() error { return r.Records.AddOrphanedObjects(ctx, keys, lasts) })
}

func (r retryingRecords) CommitVersion(ctx context.Context, change domain.VersionChange) error {
	unanswered := false
	err := retryWhileUnavailable(ctx, r.log, func() error {
		err := r.Records.CommitVersion(ctx, change)
		if unanswered && errors.Is(err, domain.ErrConflict) {
			err = r.committed(ctx, change, err)
		}
		unanswered = unanswered || unavailable(err)
		return err
	})
	if unanswered && ctx.Err() != nil {
		// The renewal of a completed ingestion fails, which ends ctx.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = r.committed(ctx, change, err)
	}
	return err
}

// committed is nil when the change took effect before: then the dataset names its files.
func (r retryingRecords) committed(ctx context.Context, change domain.VersionChange, refused error) error {
	keys := make([]string, len(change.Add))
	for i, file := range change.Add {
		keys[i] = file.Key
	}
	unnamed, err := r.Records.UnnamedObjects(ctx, keys)
	switch {
	case err != nil:
		return err
	case len(unnamed) > 0 || len(keys) == 0:
		return refused
	}
	return nil
}

func (r retryingRecords) FailIngestion(ctx context.Context, job domain.IngestionJob, message string) error {
	return retryWhileUnavailable(ctx, r.log, func() error { return r.Records.FailIngestion(ctx, job, message) })
}

type retryingObjects struct {
	Objects
	log *slog.Logger
}

func (o retryingObjects) Put(ctx context.Context, key, path string) error {
	return retryWhileUnavailable(ctx, o.log, func() error { return o.Objects.Put(ctx, key, path) })
}

func (o retryingObjects) Check(ctx context.Context, files []domain.DataFile) error {
	return retryWhileUnavailable(ctx, o.log, func() error { return o.Objects.Check(ctx, files) })
}

func (o retryingObjects) Source(ctx context.Context, key, dir string) (path string, err error) {
	err = retryWhileUnavailable(ctx, o.log, func() error {
		path, err = o.Objects.Source(ctx, key, dir)
		return err
	})
	return path, err
}
