package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"parley/internal/s3test"
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
	p := serve(t, t.TempDir(), []string{
		"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + proxy.URL + "&region=" + s3test.Region + "&path_style=true",
		"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
	}, "--request-timeout", "5s")
	c := client{p, p.token("alice")}
	row := object{"data": []object{{"item": "apple"}}}
	for _, name := range []string{"seen", "unseen"} {
		if status := c.ask("POST", "/ingest/shop/"+name, row, nil); status != http.StatusOK {
			t.Fatalf("rows: %d", status)
		}
	}
	if got := c.count("shop/seen"); got != 1 {
		t.Fatalf("%d rows", got)
	}

	text := csv(10)
	file := c.upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.ask("POST", "/ingest/new/shop/orders", nil, nil)

	away.Store(true)
	c.ingest("shop/orders", file)
	refused := func(what string, status int) {
		t.Helper()
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s without the bucket: %d", what, status)
		}
	}
	refused("rows", c.ask("POST", "/ingest/shop/seen", row, nil))
	refused("an upload", c.ask("POST", "/file-upload/prepare", object{"filesToUpload": []object{{"filename": "a.csv", "size": 1}}}, nil))
	refused("a dataset that is not here", c.ask("POST", "/query", object{"username": "self", "namespace": "shop", "query": "SELECT * FROM unseen"}, nil))
	if got := c.count("shop/seen"); got != 1 {
		t.Errorf("%d rows of a dataset that is here", got)
	}
	if status, _ := p.call("", "GET", "/readyz", ""); status != http.StatusServiceUnavailable {
		t.Errorf("ready without the bucket: %d", status)
	}

	eventually(t, func() bool { return strings.Contains(p.log.String(), "an ingestion waits for what is away") })

	away.Store(false)
	eventually(t, func() bool { return c.ask("POST", "/ingest/shop/seen", row, nil) == http.StatusOK })
	if seen, unseen := c.count("shop/seen"), c.count("shop/unseen"); seen != 2 || unseen != 1 {
		t.Errorf("%d and %d rows afterwards", seen, unseen)
	}
	if got := c.settled("shop/orders"); got[0].Status != "completed" || c.count("shop/orders") != 10 {
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
			p := serve(t, t.TempDir(), []string{
				"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=http://" + w.listener.Addr().String() +
					"&region=" + s3test.Region + "&path_style=true",
				"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
			}, "--request-timeout", "1s", "--query-timeout", "1s")
			c := client{p, p.token("alice")}
			row := object{"data": []object{{"item": "apple"}}}
			for _, name := range []string{"shop/seen", "shop/unseen", "garden/beds"} {
				if status := c.ask("POST", "/ingest/"+name, row, nil); status != http.StatusOK {
					t.Fatalf("rows: %d", status)
				}
			}
			c.ask("POST", "/ingest/new/shop/orders", nil, nil)
			text := csv(100)
			file := c.upload("orders.csv", int64(len(text)), strings.NewReader(text))
			if got := c.count("shop/seen"); got != 1 {
				t.Fatalf("%d rows", got)
			}

			w.hold()
			c.ingest("shop/orders", file)
			answered := make(chan string, 1)
			go func() {
				status, _, text, err := knock{"", "POST", "/query/autorag", object{"username": "self", "namespace": "garden", "query": "How many beds are there?"}}.send(c)
				answered <- fmt.Sprint(status, text, err)
			}()
			c.refused(
				knock{"rows", "POST", "/ingest/shop/seen", row},
				knock{"an upload", "POST", "/file-upload/prepare", object{"filesToUpload": []object{{"filename": "a.csv", "size": 1}}}},
				knock{"a dataset that is not here", "POST", "/query", object{"username": "self", "namespace": "shop", "query": "SELECT * FROM unseen"}},
			)
			if got := c.count("shop/seen"); got != 1 {
				t.Errorf("%d rows of a dataset that is here", got)
			}
			c.lives(http.StatusServiceUnavailable)

			speak(w)
			if got := <-answered; !strings.HasPrefix(got, "200") || !strings.Contains(got, "1") {
				t.Errorf("a question: %s", got)
			}
			if got := c.settled("shop/orders"); got[0].Status != "completed" || c.count("shop/orders") != 100 {
				t.Errorf("an ingestion: %+v", got)
			}
			c.served(knock{"rows", "POST", "/ingest/shop/seen", row})
			if seen, unseen := c.count("shop/seen"), c.count("shop/unseen"); seen != 2 || unseen != 1 {
				t.Errorf("%d and %d rows afterwards", seen, unseen)
			}
			c.lives(http.StatusOK)
		})
	}
}
