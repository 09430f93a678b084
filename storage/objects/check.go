package objects

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/domain"
)

// Check reports whether files of datasets are in a store, by their sizes and their first bytes: it
// does not read them. A missing or damaged one is domain.ErrNotFound, also where
// others cannot be checked.
func Check(ctx context.Context, store Store, files []domain.DataFile) error {
	checks := make(chan error, len(files))
	slots := make(chan struct{}, maxFetches)
	for _, file := range files {
		slots <- struct{}{}
		go func() {
			checks <- check(ctx, store, file)
			<-slots
		}()
	}
	var failed error
	for range files {
		if err := <-checks; err != nil && !errors.Is(failed, domain.ErrNotFound) {
			failed = err
		}
	}
	return failed
}

func check(ctx context.Context, store Store, file domain.DataFile) error {
	const magic = "PAR1"
	start, size, err := store.ReadStart(ctx, file.Key, len(magic))
	if err != nil {
		return err
	}
	if size != file.Bytes || string(start) != magic {
		return fmt.Errorf("%w: the file %s is damaged: %d bytes, not %d", domain.ErrNotFound, file.Key, size, file.Bytes)
	}
	return nil
}
