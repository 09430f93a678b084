package sqlstore

import (
	"slices"
	"testing"

	"parley/internal/domain"
)

func TestParse(t *testing.T) {
	t.Parallel()
	st := parse(`SELECT :b::bigint, :a FROM x WHERE a = :a AND caller = :caller AND k = 'host/' || :b`)
	const want = `SELECT $1::bigint, $2 FROM x WHERE a = $2 AND caller = $3 AND k = 'host/' || $1`
	if text, names := st.parsed(); text != want || !slices.Equal(names, []string{"b", "a", "caller"}) {
		t.Errorf("got %s with %v", text, names)
	}
	_, values, err := st.bind(by(domain.Caller{Username: "alice"}, args{"a": 1, "b": 2, "unused": 3}))
	if err != nil || !slices.Equal(values, []any{2, 1, "alice"}) {
		t.Errorf("got %v, %v", values, err)
	}
	if _, values, err := st.bind(args{"a": 1}); err == nil {
		t.Errorf("a parameter without a value: got %v", values)
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	text, values, err := expand(`UPDATE x SET at = :now WHERE id IN (:ids) AND at < :now`, args{"now": 7, "ids": []string{"a", "b"}})
	if err != nil || text != `UPDATE x SET at = $1 WHERE id IN ($2, $3) AND at < $4` || !slices.Equal(values, []any{7, "a", "b", 7}) {
		t.Errorf("got %s, %v, %v", text, values, err)
	}
	if _, _, err := expand(`DELETE FROM x WHERE id IN (:ids)`, args{"ids": []string{}}); err == nil {
		t.Error("an empty list is no error")
	}
}
