// Package datasetstest has the statements that tests of several packages try. It does not import
// DuckDB, which takes seconds to link.
package datasetstest

import (
	_ "embed"
	"strings"
)

var (
	//go:embed questions.sql
	questions string
	//go:embed trespasses.sql
	trespasses string
	//go:embed bombs.sql
	bombs string
)

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// Questions are statements that people's questions become; all are allowed.
var Questions = lines(questions)

// The hostile lists: statements that nobody who asks a question of their data would write.
// {dir} is a folder with files that are not for them, {secret} a file in it, {file} a table's
// own file, {link} the name by which a worker reads another.
var (
	// Trespasses are refused by the validator, whatever else is left out.
	Trespasses = lines(trespasses)
	// Bombs are statements that may be allowed, and want more time or memory than there is.
	Bombs = lines(bombs)
)

// SmallTree is the tree of SELECT 1, in as few words as the validator needs.
const SmallTree = `{"error":false,"statements":[{"node":{"type":"SELECT_NODE","cte_map":{"map":[]},"select_list":[],
	"from_table":{"type":"EMPTY"}},"named_param_map":[]}]}`
