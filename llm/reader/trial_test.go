package reader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/internal/worktime"
	"parley/llm"
	"parley/llm/reader"
)

// slow answers a query when it has used as much time as it says, and waits an hour before some.
type slow struct{}

func (slow) Query(ctx context.Context, sql string) (llm.Rows, error) {
	sql, waits := strings.CutPrefix(sql, "wait ")
	if waits {
		time.Sleep(time.Hour)
	}
	defer measureElapsed(ctx)()
	took, err := time.ParseDuration(sql)
	if err != nil {
		return llm.Rows{}, err
	}
	select {
	case <-ctx.Done():
		return llm.Rows{}, ctx.Err()
	case <-time.After(took):
		return llm.Rows{}, nil
	}
}

func measureElapsed(ctx context.Context) (stop func()) {
	start := time.Now()
	return worktime.Measure(ctx, func() time.Duration { return time.Since(start) })
}

// TestSlowTrials has queries that take long: each counts as one that runs, and all
// together have a bound.
func TestSlowTrials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		run, start := reader.Trials(ctx, slow{}), time.Now()
		for _, trial := range []struct {
			sql   string
			known bool
			at    time.Duration
		}{
			{"wait 4s", true, time.Hour + 4*time.Second}, {"6s", false, time.Hour + 9*time.Second}, {"1h", false, time.Hour + 14*time.Second},
			{"3s", false, time.Hour + 15*time.Second}, {"1s", false, time.Hour + 15*time.Second},
		} {
			result, ok, err := run(trial.sql)
			if err != nil || !ok || (result.Key != trial.sql) != trial.known || result.Empty != trial.known || time.Since(start) != trial.at {
				t.Errorf("%s: %+v, %v, %v after %v", trial.sql, result, ok, err, time.Since(start))
			}
		}
		stop()
		if _, _, err := run("1s"); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the job: %v", err)
		}
	})
}

// noTrials reads profiles of datasets, and nothing else in any time.
type noTrials struct{ *ducktest.Duck }

func (u noTrials) Query(ctx context.Context, sql string) (llm.Rows, error) {
	if strings.HasSuffix(sql, "AS sample") {
		return u.Duck.Query(ctx, sql)
	}
	defer measureElapsed(ctx)()
	<-ctx.Done()
	return llm.Rows{}, ctx.Err()
}

// TestSlowReadingIsNotCached reads a question whose queries cannot be tried out in time, and
// again when they can.
func TestSlowReadingIsNotCached(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	const question = "How many poodles are there?"
	synctest.Test(t, func(t *testing.T) {
		r := reader.New()
		start := time.Now()
		if _, err := r.WriteQuery(t.Context(), step(noTrials{d}, datasets, question)); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 5*time.Second || took > 15*time.Second {
			t.Errorf("took %v", took)
		}
		before := d.Queries.Load()
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		if err != nil || !strings.Contains(q.SQL, "poodle") {
			t.Errorf("%s, %v", q.SQL, err)
		}
		if d.Queries.Load() == before {
			t.Error("what was read without results was kept")
		}
	})
}

// TestLargeDatasets asks about datasets of many rows. Over more than ten million, no query is
// tried out.
func TestLargeDatasets(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	d.Exec(`CREATE TABLE orders AS SELECT i AS id, 'customer ' || i % 50 AS customer, 'city ' || i * 31 % 20 AS city,
		(i * 7919 % 100000) / 100.0 AS amount, DATE '2020-01-01' + CAST(i % 1500 AS INTEGER) AS day FROM range(2000) r(i)`)
	orders := d.Dataset("orders")
	r := reader.New()
	for _, test := range []struct {
		question string
		rows     int64
		want     string
	}{
		{"What is the largest amount of orders in city 7?", 10_000_000, `SELECT max("amount") AS "highest_amount" FROM "orders" WHERE "city" = 'city 7'`},
		{"What is the average amount of orders for each city?", 1_000_000_000, `SELECT "city", avg("amount") AS "average_amount" FROM "orders" GROUP BY "city" ORDER BY avg("amount") DESC NULLS LAST, "city"`},
	} {
		orders.Rows = test.rows
		if q, err := r.WriteQuery(t.Context(), step(d, []llm.Dataset{orders}, test.question)); err != nil || q.SQL != test.want || len(q.Readings) > 0 {
			t.Errorf("%s %s, %v, %v", test.question, q.SQL, q.Readings, err)
		}
	}
}
