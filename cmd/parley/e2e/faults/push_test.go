package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestPushSurvivesKills has a server send push notifications to a receiver that refuses some,
// and kills it in the middle, again and again. In the end every event has come, in order.
func TestPushSurvivesKills(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		if env != nil {
			env = append(env, e2etest.ShortLease)
		}
		dir, args := t.TempDir(), []string{"--push-insecure", "--log-level", "error"}
		p := e2etest.Serve(t, dir, env, args...)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
		text := e2etest.CSV(100)
		c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		c.Settled("shop/orders")
		var now atomic.Pointer[e2etest.Process]
		now.Store(p)
		service := &e2etest.Fallible{T: t, Token: c.Token, Where: now.Load, Due: make(chan struct{}, 1)}
		hook := e2etest.NewWebhook(t, func(number int) int {
			if number%10 == 0 {
				return http.StatusInternalServerError
			}
			return http.StatusNoContent
		})
		const tasks, downs = 20, 3
		var streams []*e2etest.Stream
		for i := range tasks {
			streams = append(streams, service.Pushed(e2etest.Questions[i%len(e2etest.Questions)], hook, fmt.Sprint("/", i)))
		}
		for down := range downs {
			e2etest.Eventually(t, func() bool { return hook.Count() >= (down+1)*tasks })
			p.Signal(syscall.SIGKILL)
			p.Wait()
			p = e2etest.Serve(t, dir, env, args...)
			now.Store(p)
		}
		for i, s := range streams {
			service.CheckPushed(s, hook, fmt.Sprint("/", i))
		}
		t.Logf("%d requests, %d events came again", hook.Count(), hook.Again())
	})
}
