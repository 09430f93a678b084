package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// trickle begins to send a part and does not go on.
func trickle(c e2etest.Client, address string) net.Conn {
	c.T.Helper()
	u, err := url.Parse(address)
	if err != nil {
		c.T.Fatal(err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.T.Context(), "tcp", u.Host)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\n\r\n1", u.RequestURI(), u.Host); err != nil {
		c.T.Fatal(err)
	}
	return conn
}

// TestIngestWaitsItsTurn has alice use all her turns for parts that do not come, and
// run `parley ingest` all the same. It goes on when there is a turn for it; bob's does
// not wait.
func TestIngestWaitsItsTurn(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	c := e2etest.Client{Process: i.server, Token: i.server.Token("alice")}
	var session struct {
		Files []struct{ PresignedURLs []struct{ URL string } }
	}
	c.Ask("POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "a.csv", "size": 5}}}, &session)
	var slow []io.Closer
	for range 16 {
		slow = append(slow, trickle(c, session.Files[0].PresignedURLs[0].URL))
	}
	e2etest.Eventually(t, func() bool { return c.Metrics()[`parley_turns{state="running",what="parts"}`] == 16 })

	alices := e2etest.Command(t, i.dir, i.env, ingestBig...)
	var said bytes.Buffer
	alices.Stdout, alices.Stderr = &said, &said
	if err := alices.Start(); err != nil {
		t.Fatal(err)
	}
	e2etest.Eventually(t, func() bool { return c.Metrics()[`parley_turns{state="waiting",what="parts"}`] > 0 })
	if got := e2etest.RunCommand(t, i.dir, i.as("bob"), ingestBig...); got.Code != e2etest.ExitOK {
		t.Errorf("bob's: %d\n%s", got.Code, got.Stderr)
	}
	e2etest.Eventually(t, func() bool { return c.Metrics()[`parley_turns_refused_total{what="parts"}`] > 0 })
	for _, conn := range slow {
		_ = conn.Close()
	}
	if err := alices.Wait(); err != nil || !strings.Contains(said.String(), "sent") {
		t.Errorf("alice's: %v\n%s", err, said.String())
	}
	if rows := i.rows(); rows != bigRows {
		t.Errorf("%d rows", rows)
	}
}
