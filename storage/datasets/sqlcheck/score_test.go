package sqlcheck

import "testing"

// The score goes to the end of the outermost list, wherever that is, and what
// runs is the statement's own text besides.
func TestScoreIsAddedToTheText(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	for sql, want := range map[string]string{
		"SELECT a.text FROM notes a WHERE match(a.text, 'fox')":                      "SELECT a.text, match(a.text, 'fox') AS __score FROM notes a WHERE match(a.text, 'fox')",
		"SELECT text, FROM notes WHERE match(text, 'fox')":                           "SELECT text, match(text, 'fox') AS __score FROM notes WHERE match(text, 'fox')",
		"FROM notes WHERE match(text, 'fox')":                                        "SELECT *, match(text, 'fox') AS __score FROM notes WHERE match(text, 'fox')",
		"FROM notes SELECT text WHERE match(text, 'fox')":                            "FROM notes SELECT text, match(text, 'fox') AS __score WHERE match(text, 'fox')",
		"SELECT match('fox', 'fox') -- FROM\n;":                                      "SELECT match('fox', 'fox'), match('fox', 'fox') AS __score -- FROM\n;",
		"SELECT match('fox', 'fox'); -- done":                                        "SELECT match('fox', 'fox'), match('fox', 'fox') AS __score; -- done",
		"SELECT match('fox', 'fox') AS from ORDER BY 1":                              "SELECT match('fox', 'fox') AS from, match('fox', 'fox') AS __score ORDER BY 1",
		"SELECT a IS DISTINCT FROM 1 FROM (SELECT 'x' AS a) b WHERE match(b.a, 'x')": "SELECT a IS DISTINCT FROM 1, match(b.a, 'x') AS __score FROM (SELECT 'x' AS a) b WHERE match(b.a, 'x')",
		"WITH w AS (SELECT text FROM notes) SELECT text /* FROM */ FROM w WHERE \"match\"(text /* ) */, $x$)'$x$)": "WITH w AS (SELECT text FROM notes) SELECT text, " +
			"\"match\"(text /* ) */, $x$)'$x$) AS __score /* FROM */ FROM w WHERE \"match\"(text /* ) */, $x$)'$x$)",
		"SELECT text FROM notes WHERE match(text, E'it\\'s') AND match(text, 'it''s (') ORDER BY match( text,'it''s (' )": "SELECT text, " +
			"greatest(match(text, E'it\\'s'), match(text, 'it''s (')) AS __score FROM notes WHERE match(text, E'it\\'s') AND match(text, 'it''s (') ORDER BY match( text,'it''s (' )",
		"SELECT text FROM notes WHERE match(text, 'fox') OR match(document, 'a') LIMIT 1": "SELECT text, greatest(match(text, 'fox'), match(document, 'a')) AS __score " +
			"FROM notes WHERE match(text, 'fox') OR match(document, 'a') LIMIT 1",
		// A statement may be in parentheses, and have spaces that are not ASCII.
		"(SELECT text FROM notes WHERE match(text, 'fox'))":                                "(SELECT text, match(text, 'fox') AS __score FROM notes WHERE match(text, 'fox'))",
		"((SELECT match('fox', 'fox')));":                                                  "((SELECT match('fox', 'fox'), match('fox', 'fox') AS __score));",
		"(FROM notes WHERE match(text, 'fox'))":                                            "(SELECT *, match(text, 'fox') AS __score FROM notes WHERE match(text, 'fox'))",
		"SELECT\u00a0text\u3000FROM notes WHERE match(text, 'a\u00a0fox') -- \u00a0":       "SELECT text, match(text, 'a\u00a0fox') AS __score FROM notes WHERE match(text, 'a\u00a0fox') -- \u00a0",
		"(WITH w AS (SELECT text FROM notes) SELECT text FROM w WHERE match(text, 'fox'))": "(WITH w AS (SELECT text FROM notes) SELECT text, match(text, 'fox') AS __score FROM w WHERE match(text, 'fox'))",
		// Where there is no sure place, there is no score.
		"(SELECT text FROM notes WHERE match(text, 'fox')) UNION SELECT 'x'": "(SELECT text FROM notes WHERE match(text, 'fox')) UNION SELECT 'x'",
		"SELECT text FROM notes WHERE ('a' || text).match('fox')":            "SELECT text FROM notes WHERE ('a' || text).match('fox')",
	} {
		checked, err := p.check(sql, plainTables())
		if err != nil || checked.SQL != want {
			t.Errorf("%s\nruns as %s, %v\nwant    %s", sql, checked.SQL, err, want)
		}
	}
}
