package sqlstore

import (
	"context"
	"testing"
)

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

// SentRunPlan returns the steps in which the embedded database finds the run of a message.
func (s *Store) SentRunPlan(ctx context.Context) (steps []string, err error) {
	text, names := selectSentRun.parsed()
	var plan []struct {
		ID, Parent, Notused int
		Detail              string
	}
	err = s.read.SelectContext(ctx, &plan, `EXPLAIN QUERY PLAN `+text, make([]any, len(names))...)
	for _, step := range plan {
		steps = append(steps, step.Detail)
	}
	return steps, err
}

// HoldReaders takes every connection that reads go through, until the test ends.
func (s *Store) HoldReaders(t *testing.T) {
	t.Helper()
	for range s.read.Stats().MaxOpenConnections {
		conn, err := s.read.Conn(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

// WaitingWrites returns how many users' transactions wait for a connection.
func (s *Store) WaitingWrites() int { return s.writes.Stats().Waiting }

// HoldWriter takes a slot of writes for the user of a context, until release is called.
func (s *Store) HoldWriter(ctx context.Context, t *testing.T) (release func()) {
	t.Helper()
	release, err := s.writes.Take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return release
}
