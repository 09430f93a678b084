package agents_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"parley/agents"
	"parley/storage"
)

// narrowLake turns away whoever is one too many.
type narrowLake struct {
	agents.Lake
	inside atomic.Int64
	most   int64
}

func (l *narrowLake) Query(context.Context, storage.Caller, storage.NamespaceRef, string) (storage.QueryResult, error) {
	defer l.inside.Add(-1)
	if l.inside.Add(1) > l.most {
		return storage.QueryResult{}, storage.ErrUnavailable
	}
	return storage.QueryResult{}, nil
}

func TestLimit(t *testing.T) {
	t.Parallel()
	lake := agents.Limit(&narrowLake{most: 3}, 3)
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, err := lake.Query(t.Context(), storage.Caller{}, storage.NamespaceRef{}, ""); err != nil {
				t.Errorf("a query was turned away: %v", err)
			}
		})
	}
	all.Wait()
	ended, end := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	end(reason)
	if _, err := agents.Limit(&narrowLake{}, 0).Query(ended, storage.Caller{}, storage.NamespaceRef{}, ""); !errors.Is(err, reason) {
		t.Errorf("waiting ended with %v", err)
	}
}
