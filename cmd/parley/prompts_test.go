package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestPromptSize asks about one dataset of many, each with many columns: what a
// model is sent stays small, and holds the dataset that counts.
func TestPromptSize(t *testing.T) {
	t.Parallel()
	model := newProvider(t, "openai", nil)
	model.does(func(w http.ResponseWriter, r *http.Request, q prompt) {
		text := wellDone(q.job)
		if q.job == queryJob {
			text = queries("", "", `SELECT count("shipping_weight") AS n FROM "parcels"`).says
		}
		model.say(w, q, text)
	})
	p := serve(t, t.TempDir(), model.env())
	alice := client{p, p.token("alice")}
	made := 0
	grow := func(to int) {
		var group sync.WaitGroup
		slots := make(chan struct{}, 8)
		for ; made < to; made++ {
			name, row := fmt.Sprintf("table_%03d", made), object{}
			if made == 0 {
				name, row["shipping_weight"] = "parcels", 1.5
			}
			for i := range 50 - len(row) {
				row[fmt.Sprintf("measure_%03d_%02d", made, i)] = "some value of it"
			}
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				body := toJSON(object{"data": []object{row, row}, "dataDescription": "One of many things that are measured"})
				if status, text, err := p.try(alice.token, http.MethodPost, "/api/v1/ingest/wide/"+name, strings.NewReader(body)); err != nil || status != http.StatusOK {
					t.Errorf("%s: %d %s %v", name, status, text, err)
				}
			})
		}
		group.Wait()
	}
	sizes := []int{1, 10, 50, 200}
	if raceDetector {
		sizes = sizes[:2]
	}
	for _, datasets := range sizes {
		grow(datasets)
		before := len(model.requests("standin"))
		if status, text := p.post(alice.token, "/api/v1/query/autorag",
			`{"username":"self","namespace":"wide","query":"What is the shipping weight of all parcels?"}`); status != http.StatusOK || !strings.Contains(text, `"n":2`) {
			t.Errorf("%d datasets: %d %s", datasets, status, text)
		}
		for _, q := range model.requests("standin")[before:] {
			size := len(q.system) + len(q.text)
			t.Logf("%d datasets: %d bytes for %q", datasets, size, q.job)
			if size > 64<<10 {
				t.Errorf("%d datasets: %d bytes", datasets, size)
			}
			if q.job != answerJob {
				holdsAll(t, q.text, `dataset "parcels", 2 rows`, `"shipping_weight" DOUBLE`)
			}
		}
	}
}
