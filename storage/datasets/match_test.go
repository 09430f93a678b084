package datasets

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/internal/domain"
)

// scores returns the rows' scores.
func scores(t *testing.T, result domain.QueryResult) []float64 {
	t.Helper()
	var all []float64
	for _, row := range result.Rows {
		var r struct {
			Metadata struct{ Score float64 } `json:"__metadata"`
		}
		if err := json.Unmarshal(row, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Metadata.Score)
	}
	return all
}

func TestMatchInQueries(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for sql, want := range map[string]string{
		// The score comes by itself, or under the name that the query gives it.
		"SELECT passage FROM notes WHERE match(text, 'quick foxs') ORDER BY match(text, 'quick foxs') DESC":                               `{"passage":1,"__metadata":{"score":1.0}}` + "\n" + `{"passage":2,"__metadata":{"score":0.5}}`,
		"SELECT passage, match(text, 'quick foxs') AS __score FROM notes WHERE __score > 0.5":                                             `{"passage":1,"__metadata":{"score":1.0}}`,
		"SELECT n.passage FROM notes n WHERE match(n.text, 'quick fox') > 0 AND match(n.document, 'a') LIMIT 1":                           `{"passage":1,"__metadata":{"score":1.0}}`,
		"SELECT passage FROM notes WHERE match(text, 'brulee') > 0.9":                                                                     `{"passage":1,"__metadata":{"score":1.0}}`,
		"SELECT count(*) AS n FROM notes WHERE match(text, 'fox')":                                                                        `{"n":2,"__metadata":{"score":1.0}}`,
		"SELECT document, max(match(text, 'fox')) AS best FROM notes GROUP BY document ORDER BY best DESC LIMIT 1":                        `{"document":"a.md","best":1,"__metadata":{"score":1.0}}`,
		"SELECT DISTINCT document FROM notes WHERE match(text, 'fox')":                                                                    `{"document":"a.md","__metadata":{"score":1.0}}`,
		"SELECT match(NULL, 'x') AS a, match('x', NULL) AS b":                                                                             `{"a":null,"b":null,"__metadata":{"score":0}}`,
		"SELECT match(text, 'quick foxs') AS s FROM notes ORDER BY s DESC LIMIT 2":                                                        `{"s":1,"__metadata":{"score":1.0}}` + "\n" + `{"s":0.5,"__metadata":{"score":0.5}}`,
		"WITH found AS (SELECT *, match(text, 'fox night') AS __score FROM notes) SELECT passage, __score FROM found WHERE __score > 0.5": `{"passage":2,"__metadata":{"score":1.0}}`,
	} {
		if got := s.rows(t, sql); got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

// A score that is added changes nothing else about a query, large numbers and
// odd names among it.
func TestAddedScoreKeepsTheQuery(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	got := s.rows(t, `SELECT 9223372036854775807 AS "big ""one""", 1.10 AS d, '{"a":1}'::JSON ->> '$.a' AS j, [x + 1 FOR x IN [1, 2]] AS l, `+
		`CASE WHEN passage = 1 THEN 'it''s' END AS c, INTERVAL 1 DAY AS i, text[1:3] AS t FROM notes WHERE match(text, 'brulee') LIMIT 1`)
	if want := `{"big \"one\"":"9223372036854775807","d":"1.10","j":"1","l":[2,3],"c":"it's","i":"P1D","t":"Crè","__metadata":{"score":1.0}}`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestPassages(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	result, err := s.pool.Passages(t.Context(), "", s.tables[2], nil, "cunning fox's", 10)
	if err != nil {
		t.Fatal(err)
	}
	all := scores(t, result)
	if len(all) != 2 || all[0] <= all[1] || all[0] > 1 || all[1] <= 0 || !strings.Contains(string(result.Rows[0]), "cunning") {
		t.Errorf("%s", result.Rows)
	}
	// What is shown of a search can be run by whoever sees it.
	again, err := s.pool.Query(t.Context(), Query{SQL: result.SQL, Tables: s.tables})
	if err != nil || !slices.EqualFunc(again.Rows, result.Rows, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
		t.Errorf("%s\ngives %s, %v, not %s", result.SQL, again.Rows, err, result.Rows)
	}
	for _, words := range []string{"", "?!", "zebra"} {
		if result, err := s.pool.Passages(t.Context(), "", s.tables[2], nil, words, 10); err != nil || len(result.Rows) > 0 {
			t.Errorf("%q: %s, %v", words, result.Rows, err)
		}
	}
	if result, err := s.pool.Passages(t.Context(), "", s.tables[2], nil, "fox", 1); err != nil || len(result.Rows) != 1 || !result.Truncated {
		t.Errorf("one passage: %s, %v", result.Rows, err)
	}
	if _, err := s.pool.Passages(t.Context(), "", s.tables[2], nil, "'; DROP TABLE notes; --", 1); err != nil {
		t.Error(err)
	}
	if _, err := s.pool.Passages(t.Context(), "", s.tables[0], nil, "fox", 1); err == nil {
		t.Error("orders hold no passages")
	}
}
