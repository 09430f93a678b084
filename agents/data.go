package agents

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/internal/domain"
	"parley/llm"
)

// sharedFor is how long the queries of jobs go by datasets that were read for one of them.
const sharedFor = time.Second

// data lets jobs read what the caller may: to learn what there is, and to try queries out.
// These queries can be many. They have no spans of their own, and share what was read of
// the datasets for a moment. The rows of a step are read by [Run.query].
type data struct {
	*Run
	mu       sync.Mutex
	datasets []domain.DatasetData
	until    time.Time
}

func (d *data) Query(ctx context.Context, sql string) (llm.Rows, error) {
	result, err := retryWhileUnavailable(ctx, d.Run, func() (domain.QueryResult, error) {
		datasets, err := d.shared(ctx)
		if err != nil {
			return domain.QueryResult{}, err
		}
		return d.config.Lake.QueryOver(ctx, d.question.Caller, datasets, sql)
	})
	if err != nil {
		if errors.Is(err, domain.ErrInvalid) {
			err = fmt.Errorf("%w: %w", llm.ErrBadQuery, err)
		}
		err = &queryError{err: err} // and not the model's failure
	}
	return rowsOf(result), err
}

func (d *data) shared(ctx context.Context) ([]domain.DatasetData, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().Before(d.until) {
		return d.datasets, nil
	}
	datasets, err := d.config.Lake.Datasets(ctx, d.question.Caller, d.scope())
	if err == nil {
		d.datasets, d.until = datasets, time.Now().Add(sharedFor)
	}
	return datasets, err
}
