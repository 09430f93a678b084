package ingest

import "testing"

// Row groups of long rows are small. A Parquet file is read in slices only where its own row groups
// are small: each slice reads one again.
func TestRowGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows, bytes, groupRows, group int64
		sliced                        bool
	}{
		"short rows":                      {1_000_000, 50_000_000, 122_880, groupRows, false},
		"long rows":                       {2000, 100_000_000, 2000, 671, true},
		"long rows in a large row group":  {100_000, 5_000_000_000, 100_000, 671, false},
		"long rows of another format":     {150, 285_000_000, 0, 17, false},
		"a row longer than a whole group": {3, 300_000_000, 3, 1, true},
		"no rows":                         {0, 0, 0, groupRows, false},
	} {
		group := groupOf(c.rows, c.bytes)
		if sliced := (&table{rows: c.rows, groupRows: c.groupRows}).sliced(group); group != c.group || sliced != c.sliced {
			t.Errorf("%s: %d rows in a group, sliced %v", name, group, sliced)
		}
	}
}
