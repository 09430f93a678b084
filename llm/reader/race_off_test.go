//go:build !race

package reader_test

import "parley/cmd/parley/e2e/helpers/fulltest"

// questionStep is 1 to ask all questions of a suite. Usual runs ask a third.
var questionStep = fulltest.Count(3, 1)
