package agents

import (
	"context"

	"parley/storage"
)

// Limit gives a lake of which agents ask so many things at once. The rest wait
// for their turn, as long as their runs may take: the lake itself turns away
// whom it cannot serve soon.
func Limit(lake Lake, atOnce int) Lake {
	return limited{lake: lake, room: make(chan struct{}, atOnce)}
}

type limited struct {
	lake Lake
	room chan struct{}
}

func (l limited) enter(ctx context.Context) error {
	select {
	case l.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l limited) leave() { <-l.room }

// Datasets implements Lake. It is a read of the records and waits for nobody.
func (l limited) Datasets(ctx context.Context, caller storage.Caller, in storage.NamespaceRef) ([]storage.DatasetData, error) {
	return l.lake.Datasets(ctx, caller, in)
}

// Query implements Lake.
func (l limited) Query(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, sql string) (storage.QueryResult, error) {
	if err := l.enter(ctx); err != nil {
		return storage.QueryResult{}, err
	}
	defer l.leave()
	return l.lake.Query(ctx, caller, in, sql)
}

// Search implements Lake.
func (l limited) Search(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, dataset, words string, limit int) (storage.QueryResult, error) {
	if err := l.enter(ctx); err != nil {
		return storage.QueryResult{}, err
	}
	defer l.leave()
	return l.lake.Search(ctx, caller, in, dataset, words, limit)
}
