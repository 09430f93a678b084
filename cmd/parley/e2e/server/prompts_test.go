package server

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestPromptSize asks about one dataset of many, each with many columns: what a
// model is sent stays small, and holds the dataset that counts.
func TestPromptSize(t *testing.T) {
	t.Parallel()
	model := e2etest.NewProvider(t, "openai", nil)
	model.Does(func(w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
		text := wellDone(q.Job)
		if q.Job == e2etest.QueryJob {
			text = e2etest.Queries("", "", `SELECT count("shipping_weight") AS n FROM "parcels"`).Says
		}
		model.Say(w, q, text)
	})
	p := e2etest.Serve(t, t.TempDir(), model.Env())
	alice := e2etest.Client{Process: p, Token: p.Token("alice")}
	made := 0
	grow := func(to int) {
		var group sync.WaitGroup
		slots := make(chan struct{}, 8)
		for ; made < to; made++ {
			name, row := fmt.Sprintf("table_%03d", made), e2etest.Object{}
			if made == 0 {
				name, row["shipping_weight"] = "parcels", 1.5
			}
			for i := range 50 - len(row) {
				row[fmt.Sprintf("measure_%03d_%02d", made, i)] = "some value of it"
			}
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				body := e2etest.ToJSON(e2etest.Object{"data": []e2etest.Object{row, row}, "dataDescription": "One of many things that are measured"})
				if status, text, err := p.Try(alice.Token, http.MethodPost, "/api/v1/ingest/wide/"+name, strings.NewReader(body)); err != nil || status != http.StatusOK {
					t.Errorf("%s: %d %s %v", name, status, text, err)
				}
			})
		}
		group.Wait()
	}
	sizes := []int{1, 10, fulltest.Count(16, 60)}
	if e2etest.RaceDetector {
		sizes = sizes[:2]
	}
	for _, datasets := range sizes {
		grow(datasets)
		before := len(model.Requests("standin"))
		if status, text := p.Post(alice.Token, "/api/v1/query/autorag",
			`{"username":"self","namespace":"wide","query":"What is the shipping weight of all parcels?"}`); status != http.StatusOK || !strings.Contains(text, `"n":2`) {
			t.Errorf("%d datasets: %d %s", datasets, status, text)
		}
		for _, q := range model.Requests("standin")[before:] {
			size := len(q.System) + len(q.Text)
			t.Logf("%d datasets: %d bytes for %q", datasets, size, q.Job)
			if size > 64<<10 {
				t.Errorf("%d datasets: %d bytes", datasets, size)
			}
			if q.Job != e2etest.AnswerJob {
				holdsAll(t, q.Text, `dataset "parcels", 2 rows`, `"shipping_weight" DOUBLE (all values: 1.5)`)
			}
		}
	}
}
