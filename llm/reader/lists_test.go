package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestLists finds a value in cells that hold several, and does not take these cells for values.
func TestLists(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("respondents", "name VARCHAR, gender VARCHAR, countries_visited VARCHAR", `('Ann', 'female', 'Japan'), ('Bob', 'male', 'Peru, Japan'),
		('Cid', 'male', 'Japan, Norway, Peru'), ('Dot', 'female', 'Norway'), ('Eve', 'female', 'Norway, Japan'), ('Fay', 'female', 'Peru, Norway'), ('Gil', 'male', 'Norway, Peru, Japan'), ('Hal', 'male', NULL)`)}
	checkAnswers(t, d, datasets, map[string]string{
		"How many respondents have visited Japan?":       `{"count":5}`,
		"How many female respondents have visited Peru?": `{"count":1}`,
	})
	if q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "How many respondents visited each country?")); err == nil && strings.Contains(q.SQL, `GROUP BY "countries_visited"`) && len(q.Readings) == 0 {
		t.Errorf("groups are not values: %s", q.SQL)
	}
}

// TestListColumns finds rows by the members of lists.
func TestListColumns(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("tickets", "id INTEGER, subject VARCHAR, tags VARCHAR[], channel VARCHAR", `(1, 'Cannot log in', ['urgent', 'login'], 'email'), (2, 'Wrong amount', ['billing'], 'chat'),
		(3, 'Refund', ['billing', 'urgent'], 'email'), (4, 'Slow page', [], 'phone'), (5, 'Crash', ['login', 'crash'], 'chat'), (6, 'Other', NULL, 'email')`)}
	checkAnswers(t, d, datasets, map[string]string{
		"How many tickets are tagged billing?":                          `{"count":2}`,
		"How many tickets have the tag urgent?":                         `{"count":2}`,
		"How many email tickets are tagged urgent?":                     `{"count":2}`,
		"How many tickets are not tagged urgent?":                       `{"count":4}`,
		"How many tickets per tag?":                                     `{"tags":"billing","count":2};{"tags":"crash","count":1};{"tags":"login","count":2};{"tags":"urgent","count":2}`,
		"How many tickets are there for each tag in the channel email?": `{"tags":"billing","count":1};{"tags":"login","count":1};{"tags":"urgent","count":2}`,
		"How many different tags are there?":                            `{"count":4}`,
		"How many tickets have no tags?":                                `{"count":2}`,
		"tickets with tag urgent":                                       `{"id":1,"subject":"Cannot log in","tags":["urgent","login"],"channel":"email"};{"id":3,"subject":"Refund","tags":["billing","urgent"],"channel":"email"}`,
	})
	items := []llm.Dataset{d.Table("items", "id INTEGER, colors VARCHAR[]", `(1, ['Red', 'blue']), (2, ['red']), (3, ['blue']), (4, NULL)`)}
	checkAnswers(t, d, items, map[string]string{"How many items have the color red?": `{"count":2}`, "How many items do not have the color red?": `{"count":2}`})
}
