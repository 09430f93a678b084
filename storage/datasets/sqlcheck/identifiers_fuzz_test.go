package sqlcheck

import (
	"math/rand/v2"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/internal/sqltext"
)

// sentences writes random SELECT statements with some names in them.
type sentences struct {
	*rand.Rand
	names []string
	depth int
}

func (s *sentences) pick(of ...string) string { return of[s.IntN(len(of))] }

func (s *sentences) name() string { return sqltext.Name(s.pick(s.names...)) }

// fill replaces the marks of a pattern: {n} a name, {s} a text, {e} an
// expression, {q} a query, {f} what a query reads from, {w} a comment or blank.
func (s *sentences) fill(pattern string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "{")
		out.WriteString(before)
		if !found || len(rest) < 2 || rest[1] != '}' {
			return out.String()
		}
		switch rest[0] {
		case 'n':
			out.WriteString(s.name())
		case 's':
			out.WriteString(sqltext.Text(s.pick(s.names...)))
		case 'e':
			out.WriteString(s.expression())
		case 'q':
			out.WriteString(s.query())
		case 'f':
			out.WriteString(s.from())
		case 'w':
			out.WriteString(s.pick(" ", " ", "\n", "/* FROM ' */", "--' SELECT\n", "/* /* \" */ */"))
		}
		pattern = rest[2:]
	}
}

func (s *sentences) deeper(simple string, patterns ...string) string {
	if s.depth >= 4 {
		return s.fill(simple)
	}
	s.depth++
	defer func() { s.depth-- }()
	return s.fill(s.pick(patterns...))
}

func (s *sentences) expression() string {
	return s.deeper("text", "text", "{n}", "{n}.{n}", "{n}.text", "{s}", "1", "lower({e})", "{e} || {e}", "({e})", "({q})", "{e}::VARCHAR",
		"CASE WHEN {e} IS DISTINCT FROM {e} THEN {e} END", "match({e}, {s})", "match(text,{w}'fox')", "\"match\"({n}.text, {s})", "[{e}, {e}]", "struct_pack({n} := {e}).{n}",
		"list_transform([{e}], {n} -> {n})", "[{n} FOR {n} IN [{e}]]", "row_number() OVER (ORDER BY {e})", "sum(1) OVER {n}", "max({e})", "{e} IN ({q})",
		"list_aggregate([1], {s})", "E'\\'{e}'", "$a$ FROM $a$", "{n}({e})", "extract(year FROM {e})", "COLUMNS({n}.*)", "COLUMNS({s})", "#1")
}

func (s *sentences) item() string {
	return s.deeper("*", "*", "{n}.*", "{n}.* EXCLUDE ({n})", "* REPLACE ({e} AS {n})", "* RENAME ({n} AS {n})", "COLUMNS({n}.*)", "{e}", "{e} AS {n}", "{e} {n}",
		"{n}: {e}", "{e} AS from", "match({e}, {s})")
}

func (s *sentences) from() string {
	return s.deeper("notes", "notes", "notes AS {n}", "notes AS {n}", "notes {n}({n}, {n})", "({q}) AS {n}", "({q}) {n}({n})", "{f}, {f}", "{f} JOIN {f} USING ({n})",
		"{f} JOIN {f} ON {e}", "{f}, LATERAL ({q}) {n}", "range(3) {n}({n})", "(VALUES ({e})) {n}({n})", "{n}", "{f} PIVOT (count(*) AS {n} FOR {n} IN ({s} AS {n}))",
		"{f} UNPIVOT ({n} FOR {n} IN ({n}))")
}

func (s *sentences) query() string {
	var items []string
	for range 1 + s.IntN(3) {
		items = append(items, s.item())
	}
	list := "SELECT{w}" + strings.Join(items, ",{w}") + s.pick("", "", "", ",")
	query := s.pick("", "", "", "WITH {n} AS ({q}) ", "WITH {n}({n}) AS ({q}), {n} AS ({q}) ") +
		s.pick(list+"{w}FROM {f}", list+"{w}FROM {f}", "FROM {f}{w}"+list, "FROM {f}") +
		s.pick("", "{w}WHERE {e}", "{w}WHERE match(text, 'fox')", "{w}WHERE match(text, {s})", "{w}WHERE match({n}.text, {s})")
	for _, clause := range []string{" GROUP BY {n}", " WINDOW {n} AS (ORDER BY {e})", " QUALIFY {e}", " ORDER BY {e}", " LIMIT 1", "{w}"} {
		if s.IntN(6) == 0 {
			query += clause
		}
	}
	return s.deeper("SELECT 'fox' AS text", query, query, query, query, "{q} UNION ALL {q}", "({q})", "SELECT 1 AS {n}")
}

// FuzzIdentifiers writes statements with hostile names in them: whatever is run
// for one is the checked statement.
func FuzzIdentifiers(f *testing.F) {
	names := datasetstest.HostileNames()
	for i, name := range names {
		f.Add(uint64(i), name)
	}
	p := newParser(f)
	tables := plainTables()
	f.Fuzz(func(t *testing.T, seed uint64, name string) {
		if len(name) > 256 {
			return
		}
		s := &sentences{Rand: rand.New(rand.NewPCG(seed, 1)), names: []string{name, name, "text", "a", names[seed%uint64(len(names))]}}
		sql := s.query() + s.pick("", ";", "; -- done", " /* done")
		checked, err := p.check(sql, tables)
		if err == nil {
			p.checkExecuted(t, sql, checked.SQL, tables)
		}
	})
}
