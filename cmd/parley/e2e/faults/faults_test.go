package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// TestBucketAway has the bucket of a server go away. What needs it says so, what
// does not goes on, and all is well when it is back.
func TestBucketAway(t *testing.T) {
	t.Parallel()
	endpoint, access, secret := s3test.Server(t)
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	forward := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	p := e2etest.Serve(t, t.TempDir(), []string{
		"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + proxy.URL + "&region=" + s3test.Region + "&path_style=true",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret, shortRequests,
	})
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	row := e2etest.Object{"data": []e2etest.Object{{"item": "apple"}}}
	for _, name := range []string{"seen", "unseen"} {
		if status := c.Ask("POST", "/ingest/shop/"+name, row, nil); status != http.StatusOK {
			t.Fatalf("rows: %d", status)
		}
	}
	if got := c.Count("shop/seen"); got != 1 {
		t.Fatalf("%d rows", got)
	}

	text := e2etest.CSV(10)
	file := c.Upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)

	away.Store(true)
	c.Ingest("shop/orders", file)
	refused := func(what string, status int) {
		t.Helper()
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s without the bucket: %d", what, status)
		}
	}
	refused("rows", c.Ask("POST", "/ingest/shop/seen", row, nil))
	refused("an upload", c.Ask("POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "a.csv", "size": 1}}}, nil))
	refused("a dataset that is not here", c.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT * FROM unseen"}, nil))
	if got := c.Count("shop/seen"); got != 1 {
		t.Errorf("%d rows of a dataset that is here", got)
	}
	if status, _ := p.Call("", "GET", "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("ready without the bucket: %d", status)
	}

	e2etest.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "ingestion retry scheduled") })

	away.Store(false)
	e2etest.Eventually(t, func() bool { return c.Ask("POST", "/ingest/shop/seen", row, nil) == http.StatusOK })
	if seen, unseen := c.Count("shop/seen"), c.Count("shop/unseen"); seen != 2 || unseen != 1 {
		t.Errorf("%d and %d rows afterwards", seen, unseen)
	}
	if got := c.Settled("shop/orders"); got[0].Status != "completed" || c.Count("shop/orders") != 10 {
		t.Errorf("the ingestion: %+v", got)
	}
}

// TestBucketSilent has nothing come back from the bucket, on connections that
// stay open. What needs it is refused in time, or waits for it: a question and an
// ingestion go on when it speaks again, be it that all comes late or is lost.
func TestBucketSilent(t *testing.T) {
	t.Parallel()
	for name, speak := range map[string]func(*wire){"late": (*wire).flow, "lost": (*wire).forget} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			endpoint, access, secret := s3test.Server(t)
			w := newWire(t, "tcp", strings.TrimPrefix(endpoint, "http://"))
			p := e2etest.Serve(t, t.TempDir(), []string{
				"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=http://" + w.listener.Addr().String() +
					"&region=" + s3test.Region + "&path_style=true",
				"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret, shortRequests,
			}, "--query-timeout", "5s")
			c := e2etest.Client{Process: p, Token: p.Token("alice")}
			row := e2etest.Object{"data": []e2etest.Object{{"item": "apple"}}}
			for _, name := range []string{"shop/seen", "shop/unseen", "garden/beds"} {
				if status := c.Ask("POST", "/ingest/"+name, row, nil); status != http.StatusOK {
					t.Fatalf("rows: %d", status)
				}
			}
			c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
			text := e2etest.CSV(100)
			file := c.Upload("orders.csv", int64(len(text)), strings.NewReader(text))
			if got := c.Count("shop/seen"); got != 1 {
				t.Fatalf("%d rows", got)
			}

			w.hold()
			c.Ingest("shop/orders", file)
			answered := make(chan string, 1)
			go func() {
				status, _, text, err := knock{"", "POST", "/query/autorag", e2etest.Object{"username": "self", "namespace": "garden", "query": "How many beds are there?"}}.send(c)
				answered <- fmt.Sprint(status, text, err)
			}()
			checkRefused(c,
				knock{"rows", "POST", "/ingest/shop/seen", row},
				knock{"an upload", "POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "a.csv", "size": 1}}}},
				knock{"a dataset that is not here", "POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT * FROM unseen"}},
			)
			if got := c.Count("shop/seen"); got != 1 {
				t.Errorf("%d rows of a dataset that is here", got)
			}
			lives(c, http.StatusServiceUnavailable)

			speak(w)
			if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, "1") {
				t.Errorf("a question: %s", got)
			}
			if got := c.Settled("shop/orders"); got[0].Status != "completed" {
				t.Errorf("an ingestion: %+v", got)
			}
			served(c, knock{"rows", "POST", "/ingest/shop/seen", row})
			checkCount(c, "shop/orders", 100)
			checkCount(c, "shop/seen", 2)
			checkCount(c, "shop/unseen", 1)
			lives(c, http.StatusOK)
		})
	}
}

// checkCount compares how many rows a dataset has. A query that takes too long on a
// busy machine is repeated.
func checkCount(c e2etest.Client, dataset string, want int64) {
	c.T.Helper()
	var got int64
	e2etest.Eventually(c.T, func() bool { got = c.Count(dataset); return got > 0 })
	if got != want {
		c.T.Errorf("%s has %d rows, want %d", dataset, got, want)
	}
}
