package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// signingIn is `parley login` that waits for the browser.
type signingIn struct {
	t       *testing.T
	stdin   io.WriteCloser
	lines   *bufio.Scanner // of standard error
	address *url.URL
	wait    func() error
}

// startLogin starts `parley login` and reads the address that it shows.
func startLogin(t *testing.T, c e2etest.Client, env []string) *signingIn {
	t.Helper()
	cmd := e2etest.Command(t, t.TempDir(), env, "login", "--no-browser", "--server", c.URL)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &signingIn{t: t, stdin: stdin, lines: bufio.NewScanner(stderr), wait: cmd.Wait}
	for s.lines.Scan() {
		if strings.HasPrefix(s.lines.Text(), c.URL) {
			s.address, err = url.Parse(s.lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
	t.Fatal("no address")
	return nil
}

// allow sends the form of the consent page, and returns where the browser is sent.
func (s *signingIn) allow(token string) string {
	s.t.Helper()
	form := s.address.Query()
	form.Set("decision", "allow")
	form.Set("token", token)
	at := *s.address
	at.RawQuery = ""
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.PostForm(at.String(), form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	to := response.Header.Get("Location")
	if !strings.HasPrefix(to, form.Get("redirect_uri")+"?") {
		s.t.Fatalf("the browser is sent to %q: %s", to, response.Status)
	}
	return to
}

// end waits for the command, which must have signed in.
func (s *signingIn) end() {
	s.t.Helper()
	said := ""
	for s.lines.Scan() {
		said += s.lines.Text() + "\n"
	}
	if err := s.wait(); err != nil || !strings.Contains(said, "You are signed in to ") {
		s.t.Fatalf("%v: %s", err, said)
	}
}

func get(t *testing.T, address string) int {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestLogin signs in, uses and renews the tokens, and signs out.
func TestLogin(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	config := t.TempDir()
	env := []string{"PARLEY_SERVER=" + c.URL, "XDG_CONFIG_HOME=" + config}
	list := func() e2etest.Result { return e2etest.RunCommand(t, t.TempDir(), env, "datasets") }
	if got := list(); got.Code != 3 || !strings.Contains(got.Stderr, "`parley login`") {
		t.Errorf("before: %+v", got)
	}

	s := startLogin(t, c, env)
	to := s.allow(c.Token)
	foreign, _ := url.Parse(to)
	values := foreign.Query()
	values.Set("state", "another")
	foreign.RawQuery = values.Encode()
	if got := get(t, foreign.String()); got != http.StatusBadRequest {
		t.Errorf("another's answer: %d", got)
	}
	if got := get(t, to); got != http.StatusOK {
		t.Errorf("the answer: %d", got)
	}
	s.end()
	if got := list(); got.Code != 0 || !strings.Contains(got.Stdout, "orders") {
		t.Errorf("after: %+v", got)
	}
	files, err := filepath.Glob(filepath.Join(config, "parley", "login-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files: %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode of the file: %v, %v", info.Mode(), err)
	}

	// Commands that run at once renew an expired token once: a refresh token works once.
	before := expire(t, files[0])
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got := list(); got.Code != 0 {
				t.Errorf("with an expired token: %+v", got)
			}
		})
	}
	all.Wait()
	if after := expire(t, files[0]); after == before || after == "" {
		t.Errorf("the refresh token is %q, and was %q", after, before)
	}

	// The browser is on another machine.
	s = startLogin(t, c, env)
	if _, err := io.WriteString(s.stdin, "\nhttp://127.0.0.1:1/callback?state=x&code=y\n"+s.allow(c.Token)+"\n"); err != nil {
		t.Fatal(err)
	}
	s.end()

	out := e2etest.RunCommand(t, t.TempDir(), env, "logout")
	if out.Code != 0 || list().Code != 3 {
		t.Errorf("logout: %+v", out)
	}
	var tokens []any
	if c.Ask("GET", "/user/tokens", nil, &tokens); len(tokens) != 0 {
		t.Errorf("tokens afterwards, of one login or the other: %v", tokens)
	}
	if got := e2etest.RunCommand(t, t.TempDir(), env, "logout"); got.Code != 0 {
		t.Errorf("logout again: %+v", got)
	}
}

// expire has the access token in a file expire, and returns the refresh token.
func expire(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	kept["expires_at"] = "2020-01-01T00:00:00Z"
	if text, err = json.Marshal(kept); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refresh, _ := kept["refresh_token"].(string)
	return refresh
}

// TestLoginEnds signs in with what the server does not accept any more.
func TestLoginEnds(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	config := t.TempDir()
	env := []string{"PARLEY_SERVER=" + c.URL, "XDG_CONFIG_HOME=" + config}
	s := startLogin(t, c, env)
	to := s.allow(c.Token)
	get(t, to)
	s.end()
	var tokens []struct{ ID string }
	c.Ask("GET", "/user/tokens", nil, &tokens)
	if status := c.Ask("DELETE", "/user/token/"+tokens[0].ID, nil, nil); status != http.StatusOK {
		t.Fatalf("revoke: %d", status)
	}
	files, _ := filepath.Glob(filepath.Join(config, "parley", "login-*.json"))
	expire(t, files[0])
	got := e2etest.RunCommand(t, t.TempDir(), env, "datasets")
	if got.Code != 3 || !strings.Contains(got.Stderr, "your sign-in has ended") {
		t.Errorf("after its end: %+v", got)
	}
	if _, err := os.Stat(files[0]); err == nil {
		t.Error("the file is still there")
	}
	if got := e2etest.RunCommand(t, t.TempDir(), env, "login", "--device"); got.Code != 1 || !strings.Contains(got.Stderr, "leave --device out") {
		t.Errorf("by a code: %+v", got)
	}
	if got := e2etest.RunCommand(t, t.TempDir(), env, "login", "--server", "http://192.0.2.1"); got.Code == 0 || !strings.Contains(got.Stderr, "https") {
		t.Errorf("without TLS: %+v", got)
	}
}
