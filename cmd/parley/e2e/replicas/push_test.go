package replicas

import (
	"fmt"
	"net/http"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPushReplicas has two servers on one database send push notifications, and kills them by
// turns. In the end every event has come, in order, and while both live none comes twice.
func TestPushReplicas(t *testing.T) {
	t.Parallel()
	r := e2etest.StartFleet(t, 2, "--push-insecure", "--log-level", "error")
	c := e2etest.Client{Process: r.Any(), Token: r.Token}
	c.NewDataset("shop", "orders")
	service := &e2etest.Fallible{T: t, Token: r.Token, Where: r.Any, Due: make(chan struct{}, 1)}
	hook := e2etest.NewWebhook(t, func(int) int { return http.StatusOK })
	question := e2etest.Probe{Agent: "nl2ql", Text: "How many orders are there?", Shape: "WORKING generated-query result-data COMPLETED"}
	ask := func(from, count int) (streams []*e2etest.Stream) {
		for i := range count {
			streams = append(streams, service.Pushed(question, hook, fmt.Sprint("/", from+i)))
		}
		return streams
	}
	check := func(from int, streams []*e2etest.Stream) {
		for i, s := range streams {
			service.CheckPushed(s, hook, fmt.Sprint("/", from+i))
		}
	}
	check(0, ask(0, 20))
	if hook.Again() != 0 {
		t.Errorf("%d events came twice", hook.Again())
	}
	streams := ask(20, 20)
	for range 2 {
		kill(r)
	}
	check(20, streams)
	t.Logf("%d requests, %d events came again", hook.Count(), hook.Again())
}
