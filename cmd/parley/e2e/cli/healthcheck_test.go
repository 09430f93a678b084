package cli

import (
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2etest.Serve(t, dir, nil)
	_, port, _ := strings.Cut(strings.TrimPrefix(p.URL, "http://"), ":")
	for _, listen := range []string{"127.0.0.1:" + port, "0.0.0.0:" + port, ":" + port} {
		if got := e2etest.RunCommand(t, dir, []string{"PARLEY_LISTEN=" + listen}, "healthcheck"); got.Code != e2etest.ExitOK {
			t.Errorf("%s: %+v", listen, got)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
	if got := e2etest.RunCommand(t, dir, nil, "healthcheck", "--listen", "127.0.0.1:"+port); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "ask the server") {
		t.Errorf("a server that is gone: %+v", got)
	}
	if got := e2etest.RunCommand(t, dir, nil, "healthcheck", "--listen", "nowhere"); got.Code != e2etest.ExitUsage {
		t.Errorf("nowhere: %+v", got)
	}
}
