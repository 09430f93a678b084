package e2etest

import (
	"testing"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// EachDatabase runs a test with no settings, and with those for PostgreSQL.
func EachDatabase(t *testing.T, test func(t *testing.T, env []string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, []string{"PARLEY_DATABASE_URL=" + pgtest.URL(t)})
	})
}

// Eventually waits until something holds. It fails the test after waittest.Limit.
func Eventually(t testing.TB, holds func() bool) {
	t.Helper()
	waittest.Until(t, "what the test waits for", holds)
}
