package servertest

import (
	"errors"
	"os"
	"strconv"
	"testing"
)

// Require fails a test for an error. Where the error is that this machine lacks
// something, it does what Lacking does.
func Require(t testing.TB, err, lacking error) {
	t.Helper()
	if errors.Is(err, lacking) {
		Lacking(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Lacking skips a test for want of something, or fails it with CI=true in the
// environment.
func Lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if ci, err := strconv.ParseBool(os.Getenv("CI")); err == nil && ci {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
