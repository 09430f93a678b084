package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/llm/reader/link"
	"parley/llm/reader/train/dataset"
)

// TestPeriods compares the periods of training queries with those of questions.
func TestPeriods(t *testing.T) {
	t.Parallel()
	macros, err := os.ReadFile(filepath.Join("..", "duck", "macros.sql"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(string(macros)); err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Split("2024|2024-03|2024-Q2|2024-02-29|1990s|today|yesterday|this week|last week|this month|last month|this quarter|last quarter|"+
		"this year|last year|last 1 days|last 7 days|last 30 days|last 2 weeks|last 3 months|last 12 months|last 2 years|next 7 days", "|") {
		var from, to string
		if err := db.QueryRow("SELECT p_start(p)::VARCHAR, p_end(p)::VARCHAR FROM (SELECT CAST(? AS VARCHAR) AS p)", p).Scan(&from, &to); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		wantFrom, wantTo, ok := dataset.Period(p)
		if !ok || from != wantFrom || to != wantTo {
			t.Errorf("%s is from %s to %s for queries, and from %s to %s for questions", p, from, to, wantFrom, wantTo)
		}
	}
	for _, today := range []string{"2025-05-30", "2024-05-30", "2024-02-29", "2024-02-28", "2024-12-31"} {
		now, err := time.Parse(time.DateOnly, today)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("CREATE OR REPLACE MACRO now_date() AS DATE '" + today + "'"); err != nil {
			t.Fatal(err)
		}
		for _, p := range strings.Split("last month|last quarter|last year|last 30 days|last 1 months|last 3 months|last 12 months|last 1 years|last 2 years", "|") {
			var from, to string
			if err := db.QueryRow("SELECT p_start(p)::VARCHAR, p_end(p)::VARCHAR FROM (SELECT CAST(? AS VARCHAR) AS p)", p).Scan(&from, &to); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			wantFrom, wantTo, ok := link.PeriodOf(link.Tokenize(p), now)
			if !ok || from != wantFrom || to != wantTo {
				t.Errorf("on %s, %s is from %s to %s for queries, and from %s to %s for questions", today, p, from, to, wantFrom, wantTo)
			}
		}
	}
}
