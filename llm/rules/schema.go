package rules

import "slices"

// nameColumn is the column that rows of a table are called by.
func nameColumn(t *table) *column {
	for _, fits := range []func(c *column) bool{
		func(c *column) bool { return slices.Equal(c.words, t.words) && c.kind == kindText },
		func(c *column) bool {
			return slices.Equal(c.short, []string{"name"}) || slices.Equal(c.words, []string{"name"})
		},
		func(c *column) bool {
			return slices.Equal(c.short, []string{"title"}) || slices.Equal(c.words, []string{"title"})
		},
		func(c *column) bool {
			return c.kind == kindText && slices.Contains(c.words, "name") && overlap(c.words, t.words)
		},
		func(c *column) bool { return c.kind == kindText && overlap(c.words, t.words) && !isKeyName(c) },
		func(c *column) bool { return c.kind == kindText && slices.Contains(c.words, "name") },
		func(c *column) bool { return c.kind == kindText && c.distinct*10 >= c.filled*7 && !isKeyName(c) },
		func(c *column) bool { return c.unique },
	} {
		if i := slices.IndexFunc(t.columns, fits); i >= 0 {
			return t.columns[i]
		}
	}
	if len(t.columns) > 0 {
		return t.columns[0]
	}
	return nil
}

// keyColumn is the column that tells the rows of a table apart; nil when none
// does.
func keyColumn(t *table) *column {
	for _, fits := range []func(c *column) bool{
		func(c *column) bool { return c.unique && c.order == 0 },
		func(c *column) bool { return c.unique && isKeyName(c) },
		func(c *column) bool { return c.unique },
	} {
		if i := slices.IndexFunc(t.columns, fits); i >= 0 {
			return t.columns[i]
		}
	}
	return nil
}
