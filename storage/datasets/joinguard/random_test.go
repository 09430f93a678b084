package joinguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/joinguard"
	"parley/storage/datasets/sandbox"
	"parley/storage/datasets/sqlcheck"
)

// engine is DuckDB in this process.
type engine struct {
	*enginetest.Parser
	tables []sqlcheck.Table
}

func (e engine) Parse(_ context.Context, sql string) ([]byte, error) { return e.Parser.Parse(sql) }

func (e engine) Query(ctx context.Context, sql string, _ bool) (json.RawMessage, error) {
	if _, err := sqlcheck.Check(ctx, sql, e.tables, e.Parser.Parse); err != nil {
		return nil, err
	}
	return e.row(sql)
}

func (e engine) Print(_ context.Context, tree []byte) (string, error) {
	row, err := e.row("SELECT json_deserialize_sql(" + sqltext.Text(string(tree)) + ") AS sql")
	var printed struct{ SQL string }
	return printed.SQL, errors.Join(err, json.Unmarshal(row, &printed))
}

func (e engine) row(sql string) (json.RawMessage, error) {
	rows, err := e.run(sql)
	if err != nil || len(rows) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d rows", len(rows)))
	}
	return rows[0], nil
}

func (e engine) run(sql string) (rows []json.RawMessage, err error) {
	result, err := e.Engine.Run(sandbox.Request{SQL: sql, MaxRows: 10_000, MaxBytes: 1 << 24}, nil)
	for _, row := range result.Rows {
		rows = append(rows, row)
	}
	return rows, err
}

// Relations of the random statements, by the relation and the column to which each refers.
// Each has a column to group by and one to aggregate.
var relations = []struct {
	name, refers string
	to           int
}{{name: "p"}, {"c", "pid", 0}, {"d", "pid", 0}, {"e", "cid", 1}}

// row is a row of a random table: its id, the id that it refers to, a group and a value; -1
// is NULL.
type row struct{ id, ref, group, value int }

// join is a random statement.
type join struct {
	relations []int
	left      []bool
	// filter compares the value of a relation; -1 for none.
	filter, least int
	// group is the relation whose group column groups; -1 for none.
	group int
	// of are the relations of each aggregate, one or two.
	of    [][]int
	calls []string
}

func randomTable(r *rand.Rand, unique bool) []row {
	rows := make([]row, r.IntN(9))
	for i := range rows {
		rows[i] = row{id: i, ref: r.IntN(5) - 1, group: r.IntN(3), value: r.IntN(10) - 1}
		if !unique {
			rows[i].id = r.IntN(4)
		}
	}
	return rows
}

func randomJoin(r *rand.Rand) join {
	j := join{relations: []int{0, 1}, filter: -1, group: -1}
	for _, more := range []int{2, 3} {
		if r.IntN(2) == 0 {
			j.relations = append(j.relations, more)
		}
	}
	for range j.relations {
		j.left = append(j.left, r.IntN(4) == 0)
	}
	pick := func() int { return j.relations[r.IntN(len(j.relations))] }
	if r.IntN(2) == 0 {
		j.filter, j.least = pick(), r.IntN(6)
	}
	if r.IntN(3) > 0 {
		j.group = pick()
	}
	for range 1 + r.IntN(3) {
		of := []int{pick()}
		if other := pick(); other != of[0] && r.IntN(4) == 0 {
			of = append(of, other)
		}
		j.of = append(j.of, of)
		j.calls = append(j.calls, []string{"sum", "avg", "count"}[r.IntN(3)])
	}
	return j
}

func null(n int) string {
	if n < 0 {
		return "NULL"
	}
	return fmt.Sprint(n)
}

func (j join) sql() string {
	var items []string
	group := ""
	if j.group >= 0 {
		name := relations[j.group].name + ".grp"
		items, group = append(items, name+" AS g"), " GROUP BY "+name
	}
	for i, of := range j.of {
		var values []string
		for _, relation := range of {
			values = append(values, relations[relation].name+".val")
		}
		items = append(items, fmt.Sprintf("%s(%s) AS a%d", j.calls[i], strings.Join(values, " * "), i))
	}
	var from strings.Builder
	for i, relation := range j.relations {
		if x := relations[relation]; i == 0 {
			from.WriteString(x.name)
		} else {
			fmt.Fprintf(&from, " %s %s ON %s.%s = %s.id", map[bool]string{true: "LEFT JOIN", false: "JOIN"}[j.left[i]], x.name, x.name, x.refers, relations[x.to].name)
		}
	}
	where := ""
	if j.filter >= 0 {
		where = fmt.Sprintf(" WHERE %s.val >= %d", relations[j.filter].name, j.least)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + from.String() + where + group
}

// joined returns the positions of the rows of each relation in the rows of the join; -1 for
// none.
func (j join) joined(tables [][]row) [][]int {
	var all [][]int
	for i := range tables[0] {
		all = append(all, []int{i, -1, -1, -1})
	}
	for n, relation := range j.relations[1:] {
		var next [][]int
		to := relations[relation].to
		for _, positions := range all {
			matched := false
			for k, r := range tables[relation] {
				if positions[to] >= 0 && r.ref >= 0 && r.ref == tables[to][positions[to]].id {
					with := slices.Clone(positions)
					with[relation], matched = k, true
					next = append(next, with)
				}
			}
			if !matched && j.left[n+1] {
				next = append(next, positions)
			}
		}
		all = next
	}
	return slices.DeleteFunc(all, func(positions []int) bool {
		return j.filter >= 0 && (positions[j.filter] < 0 || tables[j.filter][positions[j.filter]].value < j.least)
	})
}

// right computes the result with each row of an aggregate's relations once in each group.
func (j join) right(tables [][]row) map[string][]float64 {
	groups := map[string][][]int{}
	if j.group < 0 {
		groups["none"] = nil
	}
	for _, positions := range j.joined(tables) {
		key := "none"
		if j.group >= 0 {
			key = "null"
			if at := positions[j.group]; at >= 0 {
				key = fmt.Sprint(tables[j.group][at].group)
			}
		}
		groups[key] = append(groups[key], positions)
	}
	result := map[string][]float64{}
	for key, rows := range groups {
		for i, of := range j.of {
			seen := map[string]bool{}
			sum, count := 0.0, 0.0
			for _, positions := range rows {
				value, id := 1.0, ""
				for _, relation := range of {
					id += fmt.Sprint(positions[relation], " ")
					if at := positions[relation]; at < 0 || tables[relation][at].value < 0 {
						value = math.NaN()
					} else {
						value *= float64(tables[relation][at].value)
					}
				}
				if !seen[id] && !math.IsNaN(value) {
					sum, count = sum+value, count+1
				}
				seen[id] = true
			}
			switch {
			case j.calls[i] == "count":
				sum = count
			case count == 0:
				sum = math.NaN() // NULL
			case j.calls[i] == "avg":
				sum /= count
			}
			result[key] = append(result[key], sum)
		}
	}
	return result
}

// result reads rows as right gives them.
func (j join) result(t *testing.T, rows []json.RawMessage) map[string][]float64 {
	t.Helper()
	result := map[string][]float64{}
	for _, text := range rows {
		cells := map[string]any{}
		if err := json.Unmarshal(text, &cells); err != nil {
			t.Fatal(err)
		}
		key := "none"
		if j.group >= 0 {
			key = strings.Replace(fmt.Sprint(cells["g"]), "<nil>", "null", 1)
		}
		for i := range j.of {
			value, ok := cells[fmt.Sprint("a", i)].(float64)
			if !ok {
				value = math.NaN()
			}
			result[key] = append(result[key], value)
		}
	}
	return result
}

func same(a, b map[string][]float64) bool {
	return len(a) == len(b) && !slices.ContainsFunc(slices.Collect(func(yield func(bool) bool) {
		for key, values := range a {
			yield(slices.EqualFunc(values, b[key], func(x, y float64) bool { return math.Abs(x-y) < 1e-9 || math.IsNaN(x) && math.IsNaN(y) }))
		}
	}), func(ok bool) bool { return !ok })
}

// Over random tables, a guarded statement gives the right result or is refused. A count of
// rows whose key groups them is left alone: it can only mean the rows of the join.
func TestRandomJoins(t *testing.T) {
	t.Parallel()
	e := engine{Parser: enginetest.NewParser(t)}
	columns := func(names ...string) (all []domain.Column) {
		for _, name := range names {
			all = append(all, domain.Column{Name: name, Type: "INTEGER"})
		}
		return all
	}
	for _, x := range relations {
		refers := x.refers
		if refers == "" {
			refers = "other"
		}
		e.tables = append(e.tables, sqlcheck.Table{Name: x.name, Columns: columns("id", refers, "grp", "val")})
	}
	counts := map[string]int{}
	seeds := fulltest.Count(10, 60)
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 1))
		var tables [][]row
		for i, x := range relations {
			rows := randomTable(r, r.IntN(4) > 0)
			tables = append(tables, rows)
			statement := fmt.Sprintf("CREATE OR REPLACE TABLE %s (id INTEGER, %s INTEGER, grp INTEGER, val INTEGER)", x.name, e.tables[i].Columns[1].Name)
			for n, row := range rows {
				statement += []string{"; INSERT INTO " + x.name + " VALUES ", ", "}[min(n, 1)] +
					fmt.Sprintf("(%d, %s, %d, %s)", row.id, null(row.ref), row.group, null(row.value))
			}
			if err := e.Engine.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			counts[e.try(t, randomJoin(r), tables)]++
		}
	}
	t.Log(counts)
	for _, outcome := range []string{"corrected", "right", "refused"} {
		if counts[outcome] < seeds/6 {
			t.Errorf("only %d statements are %s", counts[outcome], outcome)
		}
	}
}

// try guards one statement and says what became of it.
func (e engine) try(t *testing.T, j join, tables [][]row) string {
	t.Helper()
	sql := j.sql()
	tree, err := e.Parse(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	root, err := sqlcheck.DecodeTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := joinguard.Guard(t.Context(), root, e.tables, e)
	if errors.Is(err, domain.ErrInvalid) {
		return "refused"
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	outcome := "right"
	run := sql
	if guarded.SQL != "" {
		outcome, run = "corrected", guarded.SQL
	}
	rows, err := e.run(run)
	if err != nil {
		t.Fatalf("%s: %v", run, err)
	}
	got, want := j.result(t, rows), j.right(tables)
	if same(got, want) {
		return outcome
	}
	for i, of := range j.of {
		if j.calls[i] == "count" && len(of) == 1 && of[0] == j.group {
			return "counts rows of the join"
		}
	}
	t.Errorf("%s\nran %s\ngot %v, want %v\n%v", sql, run, got, want, tables)
	return "wrong"
}
