package main

import (
	"strings"
	"syscall"
	"testing"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(p.url, "http://"), ":")
	for _, listen := range []string{"127.0.0.1:" + port, "0.0.0.0:" + port, ":" + port} {
		if got := runCommand(t, dir, []string{"PARLEY_LISTEN=" + listen}, "healthcheck"); got.code != exitOK {
			t.Errorf("%s: %+v", listen, got)
		}
	}
	p.signal(syscall.SIGTERM)
	p.wait()
	if got := runCommand(t, dir, nil, "healthcheck", "--listen", "127.0.0.1:"+port); got.code != exitFailed || !strings.Contains(got.stderr, "ask the server") {
		t.Errorf("a server that is gone: %+v", got)
	}
	if got := runCommand(t, dir, nil, "healthcheck", "--listen", "nowhere"); got.code != exitUsage {
		t.Errorf("nowhere: %+v", got)
	}
}
