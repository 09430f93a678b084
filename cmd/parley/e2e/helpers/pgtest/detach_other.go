//go:build !unix

package pgtest

import "os/exec"

func runAsOrdinaryUser(*exec.Cmd, string) error {
	// Skipping is right here: PARLEY_TEST_DATABASE_URL works on every system.
	return errNoPostgres
}
