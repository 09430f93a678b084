package sqlstore

import "context"

// MigrateTo migrates up to a version, for tests of what a later migration makes
// of data.
func (s *Store) MigrateTo(ctx context.Context, version int64) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}

// Exec runs a statement as an older program would.
func (s *Store) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.write.ExecContext(ctx, statement, args...)
	return err
}
