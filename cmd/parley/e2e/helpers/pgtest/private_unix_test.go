//go:build unix

package pgtest

import "testing"

func TestPrivateClusterStopsAndStarts(t *testing.T) {
	t.Parallel()
	c := Private(t)
	c.Exec("CREATE TABLE kept (n int)")
	for range 2 {
		c.Exec("INSERT INTO kept VALUES (1)")
		c.Stop()
		if err := c.srv.exec(t.Context(), "SELECT 1"); err == nil {
			t.Error("a stopped cluster answers")
		}
		c.Start()
	}
	var rows int
	db := open(t, c.URL())
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM kept").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}
