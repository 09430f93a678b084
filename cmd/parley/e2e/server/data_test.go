package server

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// TestDataOnEveryHome uploads, ingests, appends and queries, restarts in
// between, with the records and the bytes in each of their homes.
func TestDataOnEveryHome(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
		text := e2etest.CSV(1000)
		c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		if got := c.Settled("shop/orders"); got[0].Status != "completed" || got[0].ProcessedRows != 1000 {
			t.Fatalf("ingestion: %+v", got)
		}
		if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": 1000, "name": "last", "total": 1}}}, nil); status != http.StatusOK {
			t.Errorf("append: %d", status)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()

		c.Process = e2etest.Serve(t, dir, env)
		if got := c.Count("shop/orders"); got != 1001 {
			t.Errorf("rows after a restart: %d", got)
		}
		if status := c.Ask("DELETE", "/data/self/shop?deleteDatasets=true", nil, nil); status != http.StatusNoContent {
			t.Errorf("delete: %d", status)
		}
	}
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		endpoint, access, secret := s3test.Server(t)
		test(t, []string{
			"PARLEY_DATABASE_URL=" + pgtest.URL(t),
			"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
			"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
		})
	})
}

// TestUploadMemory uploads a large file and looks at what the server took for
// it.
func TestUploadMemory(t *testing.T) {
	t.Parallel()
	const size = 128 << 20
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Upload("small.bin", 1<<20, zeros{})
	before := p.PeakMemory()
	c.Upload("large.bin", size, zeros{})
	after := p.PeakMemory()
	t.Logf("%d MiB uploaded: the server's peak went from %d to %d MiB", size>>20, before>>20, after>>20)
	if after-before > 64<<20 {
		t.Errorf("the server's memory rose by %d MiB", (after-before)>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
