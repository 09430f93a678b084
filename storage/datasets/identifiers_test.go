package datasets

import (
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/engine"
)

// Statements with hostile names run, and give the rows of the table that they name.
func TestHostileNamesRun(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.exposed = true })
	for _, name := range datasetstest.HostileNames() {
		for _, position := range []string{
			"SELECT {n}.* FROM notes AS {n} WHERE match(text, 'quick fox')",
			"SELECT COLUMNS({n}.*) FROM notes AS {n} WHERE match(text, 'quick fox')",
		} {
			got := s.rows(t, datasetstest.Place(position, name))
			want := `{"document":"a.md","passage":1,"text":"The quick brown fox jumps over the lazy dog","__metadata":{"score":1.0}}` + "\n" +
				`{"document":"a.md","passage":2,"text":"Foxes are cunning; a fox hunts by night","__metadata":{"score":0.5}}`
			if got != want {
				t.Errorf("%s gives %s", datasetstest.Place(position, name), got)
			}
		}
	}
}

// Names of columns, of fields and of tables come from files and users, and are
// written into SQL of ours: they are names there too.
func TestHostileNamesInFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.exposed = true })
	var items, want []string
	var last string
	seen := map[string]bool{}
	for i, name := range datasetstest.HostileNames() {
		if key := strings.ToLower(name); !seen[key] && domain.CheckColumnName(name) == "" {
			seen[key], last = true, name
			items = append(items, fmt.Sprintf("{%s: [%d]} AS %s", sqltext.Name(name), i, sqltext.Name(name)))
			want = append(want, fmt.Sprintf("%s:{%s:[%d]}", jsonText(name), jsonText(name), i))
		}
	}
	table := parquetTable(t, s.dir, "names", "SELECT "+strings.Join(items, ", "))
	for _, rows := range []int64{1, engine.MaxNativeRows + 1} {
		for _, name := range []string{"1 AS x, * FROM duckdb_settings() --", `a"; DROP TABLE x; --`, last} {
			table.Name, table.RowCount = name, rows
			s.tables = []Table{table}
			if got := s.rows(t, "SELECT * FROM "+sqltext.Name(name)); got != "{"+strings.Join(want, ",")+`,"__metadata":{"score":1.0}}` {
				t.Errorf("%s has %.500s", name, got)
			}
		}
		// The table, its column and the column's field have one name.
		if got := s.rows(t, datasetstest.Place("SELECT {n}.{n}.{n}[1] > 0 AS a FROM {n} WHERE match('x', 'x')", last)); got != `{"a":true,"__metadata":{"score":1.0}}` {
			t.Errorf("%s has %s", last, got)
		}
	}
	table.Files, table.Name = nil, "empty"
	s.tables = []Table{table}
	if got := s.rows(t, "SELECT * FROM empty"); got != "" {
		t.Errorf("an empty table has %s", got)
	}
}
