package e2etest

import (
	"maps"
	"net/http"

	"parley/internal/domain"
)

// WhichDate is a question about the work orders of [Client.NewWorkshop] that has two
// readings: opened in 2025, which are two, and done in 2025, which are three. The reader's
// own tests say which questions it asks back about.
const WhichDate = "How many work orders were there in 2025?"

// NewWorkshop makes the user's namespace workshop with four work orders, each with two
// dates.
func (c Client) NewWorkshop() {
	c.T.Helper()
	status := c.Ask("POST", "/ingest/workshop/work_orders", Object{"data": []Object{
		{"order_no": 1, "work_type": "oil change", "mechanic": "Ada", "opened": "2024-12-30", "done": "2025-01-03", "hours": 1},
		{"order_no": 2, "work_type": "brakes", "mechanic": "Bo", "opened": "2025-02-01", "done": "2025-02-11", "hours": 3},
		{"order_no": 3, "work_type": "oil change", "mechanic": "Cy", "opened": "2025-02-20", "done": "2025-03-01", "hours": 1.5},
		{"order_no": 4, "work_type": "tyres", "mechanic": "Ada", "opened": "2024-12-01", "done": "2024-12-05", "hours": 2},
	}}, nil)
	if status != http.StatusOK {
		c.T.Fatalf("ingest: %d", status)
	}
}

// Say sends an agent a message and returns the JSON of the response: to a task, or in a
// context, if either is set.
func (c Client) Say(agent, text string, members Object) string {
	c.T.Helper()
	message := Object{"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []Object{{"text": text}}}
	maps.Copy(message, members)
	status, answer := c.Post(c.Token, "/api/v1/a2a/"+agent, RPCBody("SendMessage", ToJSON(Object{"message": message})))
	if status != http.StatusOK {
		c.T.Fatalf("%s: %d %s", text, status, answer)
	}
	return answer
}

// Task returns the JSON of a task.
func (c Client) Task(agent, id string) string {
	c.T.Helper()
	_, answer := c.Post(c.Token, "/api/v1/a2a/"+agent, RPCBody("GetTask", `{"id":"`+id+`"}`))
	return answer
}
