package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
)

// trickle begins to send a part and does not go on.
func (c client) trickle(address string) net.Conn {
	c.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		c.t.Fatal(err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(c.t.Context(), "tcp", u.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\n\r\n1", u.RequestURI(), u.Host); err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// TestIngestWaitsItsTurn has alice use all her turns for parts that do not come, and
// run `parley ingest` all the same. It goes on when there is a turn for it; bob's does
// not wait.
func TestIngestWaitsItsTurn(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	c := client{i.server, i.server.token("alice")}
	var session struct {
		Files []struct{ PresignedURLs []struct{ URL string } }
	}
	c.ask("POST", "/file-upload/prepare", object{"filesToUpload": []object{{"filename": "a.csv", "size": 5}}}, &session)
	var slow []io.Closer
	for range 16 {
		slow = append(slow, c.trickle(session.Files[0].PresignedURLs[0].URL))
	}
	eventually(t, func() bool { return c.metrics()[`parley_turns{state="running",what="parts"}`] == 16 })

	alices := command(t, i.dir, i.env, ingestBig...)
	var said bytes.Buffer
	alices.Stdout, alices.Stderr = &said, &said
	if err := alices.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return c.metrics()[`parley_turns{state="waiting",what="parts"}`] > 0 })
	if got := runCommand(t, i.dir, i.as("bob"), ingestBig...); got.code != exitOK {
		t.Errorf("bob's: %d\n%s", got.code, got.stderr)
	}
	eventually(t, func() bool { return c.metrics()[`parley_turns_refused_total{what="parts"}`] > 0 })
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
