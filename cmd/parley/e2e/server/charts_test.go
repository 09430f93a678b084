package server

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestCharts asks for sums of amounts in euros. The answer, the chart and the units are the
// same over REST and A2A.
func TestCharts(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	const text = "city;amount\nBerlin;1.200,50 €\nParis;80,25 €\nBerlin;300,00 €\nRome;950,00 €\n"
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	if got := c.Settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	const question = "What is the total amount of orders per city?"
	type shown struct {
		Chart map[string]any
		Units map[string]string
	}
	var result struct {
		Response string
		Steps    []shown
	}
	c.Ask("POST", "/query/autorag", e2etest.Object{"username": "self", "namespace": "shop", "query": question}, &result)
	const want = "**Berlin** has the highest total amount: **€1,500.50**, followed by Rome (€950.00) and Paris (€80.25). [step 1]"
	if result.Response != want {
		t.Errorf("the answer is %q", result.Response)
	}
	_, answer := c.SendMessage("assistant", strings.Replace(e2etest.Message(`"metadata":{"namespace":"shop"}`), "How many orders are there?", question, 1))
	var sent struct {
		Result struct {
			Task struct {
				Artifacts []struct {
					ArtifactID string
					Metadata   shown
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &sent); err != nil {
		t.Fatal(err)
	}
	step := sent.Result.Task.Artifacts[0]
	if len(result.Steps) != 1 || step.ArtifactID != "step-0" || !reflect.DeepEqual(step.Metadata, result.Steps[0]) {
		t.Fatalf("over A2A %+v, over REST %+v", step, result.Steps)
	}
	if got := step.Metadata.Units["total_amount"]; got != "€" {
		t.Errorf("the unit is %q", got)
	}
	if got := step.Metadata.Chart["description"]; got != "Total amount by city" {
		t.Errorf("the chart shows %q", got)
	}
}
