//go:build !race

package sqlcheck

import "parley/cmd/parley/e2e/helpers/fulltest"

// nameStep has each position take one hostile name in six, and the next position others; all
// of them in a full run.
func nameStep() int { return fulltest.Count(6, 1) }
