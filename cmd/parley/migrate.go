package main

import (
	"context"
	"errors"
	"fmt"
)

// migrateCmd is `parley migrate`.
type migrateCmd struct {
	dataSettings
}

// Run brings the schema up to date.
func (m *migrateCmd) Run(ctx context.Context, out output) (err error) {
	c := &checker{}
	cfg := m.dataSettings.read(c)
	if err := c.err(); err != nil {
		return err
	}
	if cfg.DatabaseURL == "" {
		release, lockErr := lockData(m.Data)
		if lockErr != nil {
			return lockErr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	store, err := openStore(ctx, cfg, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	schema, err := store.Schema(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out.stdout, "The database's schema has version %d.\n", schema.Current)
	return nil
}
