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

// WhichSales is a question about the two datasets of [Client.NewSales], of the north with a total
// of 10 and of the south with 24. The reader asks which one is meant, whatever the least confidence.
const WhichSales = "What is the total amount of all sales?"

// NewSales makes the user's namespace sales with two datasets of the same columns.
func (c Client) NewSales() {
	c.T.Helper()
	for name, data := range map[string][]Object{
		"sales_north": {{"sale_id": 1, "city": "Oslo", "amount": 4}, {"sale_id": 2, "city": "Oslo", "amount": 6}},
		"sales_south": {{"sale_id": 1, "city": "Rome", "amount": 7}, {"sale_id": 2, "city": "Bari", "amount": 8}, {"sale_id": 3, "city": "Rome", "amount": 9}},
	} {
		if status := c.Ask("POST", "/ingest/sales/"+name, Object{"data": data}, nil); status != http.StatusOK {
			c.T.Fatalf("ingest: %d", status)
		}
	}
}

// Say sends an agent a message and returns the JSON of the response: to a task, or in a
// context, if either is set.
func (c Client) Say(agent, text string, members Object) string {
	c.T.Helper()
	message := Object{"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []Object{{"text": text}}}
	maps.Copy(message, members)
	status, answer := c.Post(c.Token, "/api/v1/a2a/"+agent, ToJSON(Object{
		"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": Object{"message": message},
	}))
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
