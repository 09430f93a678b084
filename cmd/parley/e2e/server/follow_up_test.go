package server

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/e2etest"
)

// TestFollowUps goes on from a question before, without a model and with both agents.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	for _, agent := range []string{"nl2ql", "assistant"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			conversation := ""
			for _, turn := range [][2]string{
				{"How many orders are there?", `"count":4`},
				{"and in Berlin?", `"count":2`},
				{"What is the weather on Mars?", "-- no query"}, // leaves no trace
				{"and in Paris?", `"count":1`},
			} {
				_, answer := s.Post(s.Alice, "/api/v1/a2a/"+agent, e2etest.A2ABody("SendMessage", turn[0], conversation))
				conversation = e2etest.Field(answer, "contextId")
				if !strings.Contains(answer, turn[1]) {
					t.Errorf("%s: no %s in %s", turn[0], turn[1], answer)
				}
			}
		})
	}
}
