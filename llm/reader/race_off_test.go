//go:build !race

package reader_test

import "parley/cmd/parley/e2e/helpers/fulltest"

// questionStep is 1 to ask all questions of a suite. Usual runs ask a sixth.
var questionStep = fulltest.Count(6, 1)
