package laketest

import (
	_ "embed"
	"fmt"
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

// Giants are statements that are too much by themselves.
func Giants() []string {
	doubling, narrow := "WITH c0 AS (SELECT 1 AS x)", "WITH c0 AS (SELECT 1 AS x)"
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf(", c%d AS (SELECT * FROM c%d a, c%d b)", i, i-1, i-1)
		narrow += fmt.Sprintf(", c%d AS (SELECT a.x FROM c%d a, c%d b)", i, i-1, i-1)
	}
	stars := strings.Repeat("SELECT "+strings.Repeat("*, ", 30)+"* FROM (", 8) + "SELECT * FROM orders" + strings.Repeat(")", 8)
	return []string{
		doubling + " SELECT count(*) FROM c59",
		doubling + " SELECT count(*) FROM c59 UNION BY NAME SELECT * FROM c59",
		narrow + " SELECT nothing FROM c59",
		stars,
		strings.Repeat(" ", 10<<20) + "SELECT 1",
		"SELECT '" + strings.Repeat("x", 10<<20) + "'",
		"SELECT " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000),
		"SELECT " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"SELECT " + strings.Repeat("-", 1) + strings.Repeat("(-", 10_000) + "1" + strings.Repeat(")", 10_000),
		"SELECT " + strings.Repeat("NOT ", 15_000) + "true",
		"SELECT 1" + strings.Repeat("+1", 30_000),
		"SELECT 1 WHERE true" + strings.Repeat(" AND true", 7_000),
		"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 3_000),
		strings.Repeat("SELECT * FROM (", 4_000) + "SELECT 1" + strings.Repeat(")", 4_000),
		"SELECT " + strings.Repeat("CASE WHEN true THEN ", 2_500) + "1" + strings.Repeat(" END", 2_500),
		"SELECT * FROM orders" + strings.Repeat(" JOIN orders USING (id)", 2_500),
		"SELECT " + strings.Repeat("1,", 32_000) + "1",
		"WITH " + strings.Repeat("a AS (WITH ", 2_000) + "b AS (SELECT 1) SELECT 1" + strings.Repeat(") SELECT 1", 2_000),
		"SELECT \xff\xfe",
		"SELECT 1 \x00; DROP TABLE orders",
		"", " ", ";", "--", "/*", "'", "\"", "SELECT", "\ufeff",
	}
}
