package agents_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/agents/nl2ql"
	"parley/internal/domain"
	"parley/llm"
)

// Numbers have the unit of the column that they are computed of.
func TestUnits(t *testing.T) {
	t.Parallel()
	s := charted()
	s.Units = map[string]string{"total": "€", "Weight Gross": "kg", "sum": "m"}
	for _, name := range []string{"Weight Gross", "sum"} {
		s.Data[0].Columns = append(s.Data[0].Columns, domain.Column{Name: name, Type: "DOUBLE"})
	}
	units := map[string]string{
		"total": "€", "TOTAL": "€", "total_total": "€", "avg(total)": "€", `max("total")`: "€", "total_max": "€", "average_total": "€", "average_weight gross": "kg", "sum": "m",
		"count(total)": "", "total_share": "", "n": "", "stddev(total)": "", "": "", "sum(total": "",
	}
	var result domain.QueryResult
	row, want := map[string]int{}, map[string]any{}
	for name, unit := range units {
		result.Columns = append(result.Columns, domain.Column{Name: name, Type: "BIGINT"})
		if row[name] = 1; unit != "" {
			want[name] = unit
		}
	}
	result.Columns = append(result.Columns, domain.Column{Name: "min_total", Type: "VARCHAR"})
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	result.Rows = []json.RawMessage{text}
	s.Results[sql] = result
	for _, event := range s.Run(t, nl2ql.New(s.Config()), nil) {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && update.Artifact.Name == "result-data" {
			if got, _ := update.Artifact.Metadata["units"].(map[string]any); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
	if got := s.Written.Units(t.Context(), s.Written.Datasets[0]); got["total"] != "€" || got["weight gross"] != "kg" {
		t.Errorf("jobs get %v", got)
	}
}

// An attachment has units of its own, and not those of the dataset that it hides.
func TestUnitsOfAttachments(t *testing.T) {
	t.Parallel()
	s := charted()
	s.Units = map[string]string{"total": "€"}
	for i := range s.Data {
		s.Data[i].Namespace, s.Data[i].Units = "", map[string]string{"total": "$"}
	}
	s.Results[sql] = domain.QueryResult{SQL: sql, Columns: []domain.Column{{Name: "total", Type: "BIGINT"}}, Rows: []json.RawMessage{json.RawMessage(`{"total":1}`)}}
	for _, event := range s.Run(t, nl2ql.New(s.Config()), nil) {
		if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && update.Artifact.Name == "result-data" {
			if got, _ := update.Artifact.Metadata["units"].(map[string]any); !maps.Equal(got, map[string]any{"total": "$"}) {
				t.Errorf("got %v", got)
			}
		}
	}
}

// A number that is made of times is one of seconds.
func TestUnitsOfTimes(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]map[string]any{
		"SELECT sum(epoch(start)) AS total_start FROM orders": {"total_start": "s"},
		"SELECT max(hour(start)) AS total_start FROM orders":  nil,
	} {
		s := charted()
		s.Data[0].Columns = append(s.Data[0].Columns, domain.Column{Name: "start", Type: "TIME"})
		s.Write = func(llm.QueryTask) (llm.Query, error) { return llm.Query{SQL: query, Confidence: 1}, nil }
		s.Results[query] = domain.QueryResult{SQL: query, Columns: []domain.Column{{Name: "total_start", Type: "DOUBLE"}}, Rows: []json.RawMessage{json.RawMessage(`{"total_start":90}`)}}
		found := false
		for _, event := range s.Run(t, nl2ql.New(s.Config()), nil) {
			if update, ok := event.(*a2a.TaskArtifactUpdateEvent); ok && update.Artifact.Name == "result-data" {
				found = true
				if got, _ := update.Artifact.Metadata["units"].(map[string]any); !maps.Equal(got, want) {
					t.Errorf("%s: got %v", query, got)
				}
			}
		}
		if !found {
			t.Errorf("%s: no result", query)
		}
	}
}
