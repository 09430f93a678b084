package admin

import (
	"context"
	"errors"
	"fmt"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/cmd/parley/internal/serve"
)

// Migrate is `parley migrate`.
type Migrate struct {
	serve.DataSettings
}

// Run brings the schema up to date.
func (m *Migrate) Run(ctx context.Context, env command.Env) (err error) {
	c := env.NewChecker()
	m.DataSettings.Check(c)
	if err := c.Err(); err != nil {
		return err
	}
	if m.DatabaseURL == "" {
		release, lockErr := datadir.Lock(m.Data)
		if lockErr != nil {
			return lockErr
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	store, err := serve.OpenStore(ctx, m.Store(), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	schema, err := store.Schema(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "The database's schema has version %d.\n", schema.Current)
	return nil
}
