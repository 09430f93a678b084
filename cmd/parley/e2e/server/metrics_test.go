package server

import (
	"encoding/json"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestMetricsMove looks at the metrics before and after each of what they count,
// on both databases.
func TestMetricsMove(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		before := c.Metrics()
		text := e2etest.CSV(100)
		c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
		c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		c.Settled("shop/orders")
		c.Ingest("shop/orders", c.Upload("bad.parquet", 4, strings.NewReader("nope")))
		c.Settled("shop/orders")
		var session struct{ SessionID string }
		c.Ask("POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "never.csv", "size": 5}}}, &session)
		c.Ask("POST", "/file-upload/"+session.SessionID+"/abort", nil, nil)
		c.Answered()
		c.Count("shop/orders")
		after := c.Metrics()
		for name, least := range map[string]float64{
			`parley_runs_started_total{agent="assistant"}`:           1,
			`parley_runs_ended_total{outcome="completed"}`:           1,
			`parley_log_events_total`:                                3,
			`parley_log_batch_runs_count`:                            1,
			`parley_store_duration_seconds_count{operation="read"}`:  5,
			`parley_store_duration_seconds_count{operation="write"}`: 5,
			`parley_store_duration_seconds_count{operation="log"}`:   1,
			`parley_ingestions_ended_total{outcome="completed"}`:     1,
			`parley_ingestions_ended_total{outcome="failed"}`:        1,
			`parley_ingested_rows_total`:                             100,
			`parley_ingested_bytes_total`:                            float64(len(text)),
			`parley_uploads_ended_total{outcome="completed"}`:        2,
			`parley_uploads_ended_total{outcome="aborted"}`:          1,
			`parley_uploaded_bytes_total`:                            float64(len(text)) + 4,
			`parley_query_pool_workers_started_total`:                1,
		} {
			if _, there := before[name]; !there || after[name]-before[name] < least {
				t.Errorf("%s went from %v to %v, not by %v", name, before[name], after[name], least)
			}
		}
		for _, name := range []string{
			`parley_runs_open{state="waiting"}`, `parley_runs_open{state="working"}`, `parley_runs_open{state="asking"}`, `parley_ingestions_open{state="queued"}`,
			`parley_ingestions_open{state="running"}`, `parley_log_queue`, `parley_query_pool_queries{state="waiting"}`,
			`parley_turns{state="waiting",what="parts"}`, `parley_turns{state="running",what="files"}`,
			`parley_turns_refused_total{what="inferences"}`, `parley_turns_refused_total{what="large_requests"}`,
			`parley_push_notifications_total{outcome="delivered"}`, `parley_push_notifications_total{outcome="given_up"}`,
			`parley_run_takeovers_total`, `parley_store_failures_total{operation="log"}`,
		} {
			if value, there := after[name]; !there || value != 0 {
				t.Errorf("%s is %v, %v", name, value, there)
			}
		}
		checkDashboard(c, after)
		c.NewWorkshop()
		c.Say("nl2ql", e2etest.WhichDate, e2etest.Object{"metadata": e2etest.Object{"namespace": "workshop"}})
		if now := c.Metrics(); now[`parley_runs_open{state="asking"}`] != 1 || now[`parley_runs_open{state="working"}`] != 0 {
			t.Errorf("a run that waits for an answer counts as %v asking, %v working", now[`parley_runs_open{state="asking"}`], now[`parley_runs_open{state="working"}`])
		}
	})
}

// TestTakeoversAreCounted kills a server with runs under way.
func TestTakeoversAreCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2etest.Serve(t, dir, nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": 1}, {"id": 2}, {"id": 3}}}, nil)
	letGo := c.Hold()
	defer letGo()
	go func() {
		_, _, _ = p.Try(c.Token, "POST", "/api/v1/query/autorag", strings.NewReader(`{"username":"self","namespace":"shop","query":"How many orders are there?"}`))
	}()
	e2etest.Eventually(t, func() bool {
		now := c.Metrics()
		return now[`parley_runs_open{state="working"}`]+now[`parley_runs_open{state="waiting"}`] == 1
	})
	p.Signal(syscall.SIGKILL)
	p.Wait()
	c.Process = e2etest.Serve(t, dir, nil)
	e2etest.Eventually(t, func() bool { return c.Metrics()[`parley_run_takeovers_total`] == 1 })
}

// checkDashboard sees that every metric of the dashboard is there. Those of
// language models have no values before one was asked.
func checkDashboard(c e2etest.Client, metrics map[string]float64) {
	c.T.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(e2etest.ReadFile(c.T, "../../../../deploy/grafana-dashboard.json")), &dashboard); err != nil {
		c.T.Fatal(err)
	}
	known := map[string]bool{
		"parley_llm_calls_total": true, "parley_llm_tokens_total": true, "parley_llm_call_duration_seconds_bucket": true,
	}
	for name := range metrics {
		name, _, _ = strings.Cut(name, "{")
		known[name] = true
	}
	used := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`\b(?:parley|process|go)_\w+`).FindAllString(target.Expr, -1) {
				if used++; !known[name] {
					c.T.Errorf("%q shows %s, which there is not", panel.Title, name)
				}
			}
		}
	}
	if used < 20 {
		c.T.Errorf("the dashboard shows only %d metrics", used)
	}
}
