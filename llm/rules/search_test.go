package rules

import (
	"testing"

	"parley/llm"
)

// TestSearchedOrRefused has only those questions looked for in texts that the texts
// speak of.
func TestSearchedOrRefused(t *testing.T) {
	t.Parallel()
	d, datasets := rentalWorld(t)
	guide := d.table(t, "guide", `document VARCHAR, passage BIGINT, text VARCHAR`,
		`('brakes.md',1,'Brakes squeal when they are wet. Clean the rims and adjust the pads.'),
		 ('deposit.md',1,'We keep a deposit of 50 euros until you bring the bike back. In bad weather we refund it at once.'),
		 ('tyres.md',1,'Plump tyres roll best. Inflate them to 4 bar.')`)
	guide.Description = "Advice for riders: brakes, tyres, deposit."
	datasets = append(datasets, guide)
	for question, search := range map[string]bool{
		"Why do brakes squeal?":                true,
		"How do I inflate a tyre?":             true,
		"How high is the deposit?":             true,
		"How many euros is the deposit?":       true,
		"Is there a deposit in Norway?":        true,
		"deposit rules":                        true,
		"xyzzy plugh":                          false, // "plump" is another word
		"Tell me about the weather tomorrow":   false,
		"What is the capital of France?":       false,
		"How many mechanics do we have?":       false,
		"Which mechanic adjusts the most?":     false,
		"Which riders have the same town?":     false,
		"What was the profit of the workshop?": false,
	} {
		q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: question})
		if (q.Search != nil) != search || (err == nil) != search {
			t.Errorf("%s: got %+v, %v", question, q, err)
		}
	}
}
