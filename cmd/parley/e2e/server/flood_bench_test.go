package server

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/auth"
)

// BenchmarkFlood has 200 users ask a question each at once, alone and beside one
// user with 1,000 requests, and says how much longer the slowest of the 200 wait.
func BenchmarkFlood(b *testing.B) {
	users, flood := 200, 1000
	if testing.Short() {
		users, flood = 20, 100
	}
	secret := strings.Repeat("a shared secret ", 3)
	p := e2etest.Serve(b, b.TempDir(), []string{"PARLEY_AUTH_SECRET=" + secret}, "--log-level", "error")
	token := func(user string) string {
		made, err := auth.Sign(auth.Config{Secret: []byte(secret)}, user, time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		return made
	}
	c := e2etest.Client{Process: p, Token: token("alice")}
	text := e2etest.CSV(2_000)
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	c.Settled("shop/orders")
	tokens := make([]string, users)
	for i := range tokens {
		name := fmt.Sprint("user", i)
		tokens[i] = token(name)
		c.Ask("POST", "/permissions/namespaces/self/shop/shares", e2etest.Object{"username": name, "role": "viewer"}, nil)
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = users + flood
	ask := func(token string) int {
		status, _, err := p.Try(token, "POST", "/api/v1/query", strings.NewReader(
			`{"username": "alice", "namespace": "shop", "naturalLanguageQuery": "What is the maximum total?"}`))
		if err != nil && !strings.Contains(err.Error(), io.EOF.Error()) {
			b.Error(err)
		}
		return status
	}
	ask(c.Token)
	all := func() time.Duration {
		took := make([]time.Duration, users)
		var wait sync.WaitGroup
		for i := range users {
			wait.Go(func() {
				start := time.Now()
				if status := ask(tokens[i]); status != http.StatusOK {
					b.Errorf("user %d: %d", i, status)
				}
				took[i] = time.Since(start)
			})
		}
		wait.Wait()
		slices.Sort(took)
		return took[users*99/100]
	}
	var alone, beside time.Duration
	var answered, refused atomic.Int64
	for b.Loop() {
		alone += all()
		var flooding sync.WaitGroup
		for range flood {
			flooding.Go(func() {
				switch ask(c.Token) {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			})
		}
		beside += all()
		flooding.Wait()
	}
	b.ReportMetric(float64(alone.Milliseconds())/float64(b.N), "ms-p99-alone")
	b.ReportMetric(float64(beside.Milliseconds())/float64(b.N), "ms-p99-beside")
	b.ReportMetric(float64(beside)/float64(alone), "times")
	b.ReportMetric(float64(refused.Load())/float64(b.N), "refused")
	b.ReportMetric(float64(answered.Load())/float64(b.N), "answered")
}
