package sqlstore

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

func choreLease(name string) string { return "chore/" + name }

// BeginChore implements storage.Chores.
func (s *Store) BeginChore(ctx context.Context, name, holder string, lasts time.Duration) (storage.Chore, error) {
	chore := storage.Chore{Name: name}
	err := s.inLeaseTx(ctx, "begin chore", func(tx *sqlx.Tx) (err error) {
		chore.Fence, err = s.takeLease(ctx, tx, choreLease(name), holder, lasts)
		return err
	})
	return chore, err
}

// KeepChore implements storage.Chores.
func (s *Store) KeepChore(ctx context.Context, chore storage.Chore, lasts time.Duration) error {
	return s.inLeaseTx(ctx, "keep chore", func(tx *sqlx.Tx) error {
		return s.holdLease(ctx, tx, choreLease(chore.Name), chore.Fence, lasts)
	})
}

// EndChore implements storage.Chores.
func (s *Store) EndChore(ctx context.Context, chore storage.Chore) error {
	return s.inLeaseTx(ctx, "end chore", func(tx *sqlx.Tx) error {
		return endLease(ctx, tx, choreLease(chore.Name), chore.Fence)
	})
}
