package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/slogctx"
	"parley/rest"
	"parley/storage/objects"
	"parley/storage/sqlstore"
	"parley/storage/trace"
)

// service is the whole interface over a real store, reached by HTTP.
type service struct {
	t      testing.TB
	store  *sqlstore.Store
	rest   *rest.Server
	folder *objects.Folder
	agents *scriptedAgents
	server *httptest.Server
	auth   auth.Config
	log    *logtest.Buffer
	// vars are the ids and tokens that a script names in braces.
	vars map[string]string
}

func newService(t testing.TB, store *sqlstore.Store, change ...func(*rest.Config)) *service {
	t.Helper()
	return newServiceOn(t, store, newDataPlane(t, store), change...)
}

func newServiceOn(t testing.TB, store *sqlstore.Store, plane dataPlane, change ...func(*rest.Config)) *service {
	t.Helper()
	s := &service{t: t, store: store, log: &logtest.Buffer{}, vars: map[string]string{}}
	s.auth = auth.Config{LocalKey: bytes.Repeat([]byte("k"), 32), Tokens: store, Users: store, Claims: []string{"groups", "region"}, Log: slog.New(slog.DiscardHandler)}
	authenticator, err := auth.New(s.auth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(authenticator.Close)
	s.folder = plane.folder
	s.agents = &scriptedAgents{store: store, lines: map[string][]domain.Progress{}}
	cfg := rest.Config{
		Uploads:     plane.uploads,
		PingObjects: plane.folder.Ping,
		Parts:       plane.parts,
		Datasets:    plane.datasets,
		Agents:      s.agents,
		Chart:       countingChart,
		Watch: func(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, query domain.SavedQuery) (json.RawMessage, error) {
			_, err := plane.datasets.Query(ctx, caller, domain.DataScope{Namespace: in}, query.Query)
			return json.RawMessage(`{}`), err
		},
		Describe:       scriptedDescription,
		CheckModel:     scriptedModelCheck,
		SignReceipt:    func(_ context.Context, document []byte) ([]byte, error) { return document, nil },
		CheckReceipt:   func([]byte) error { return nil },
		Models:         []rest.Model{{Name: "openai:gpt-x"}, {Name: "reader", BuiltIn: true}},
		Rate:           trace.NewFeedback(trace.FeedbackConfig{Records: store, Log: slog.New(slog.DiscardHandler)}).Rate,
		MaxRowsBody:    1 << 20,
		Store:          store,
		Auth:           authenticator,
		Log:            slog.New(slogctx.Handler{Handler: slog.NewJSONHandler(s.log, nil)}),
		Metrics:        prometheus.NewRegistry(),
		MaxBody:        1 << 20,
		RequestTimeout: time.Minute,
		RunTimeout:     time.Minute,
		WriteTimeout:   time.Minute,
		Short:          fair.New(fair.ShortRequests()),
		Reads:          fair.New(fair.Config{What: "large answers", Slots: 64 << 20, SlotsPerUser: 16 << 20, MaxQueued: 100, MaxQueuedPerUser: 100}),
	}
	for _, apply := range change {
		apply(&cfg)
	}
	if s.rest, err = rest.New(cfg); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(s.rest)
	t.Cleanup(s.server.Close)
	return s
}

// token signs a token for a user; the name of a variable gives what it holds.
func (s *service) token(user string) string {
	s.t.Helper()
	if token, ok := s.vars[user]; ok {
		return token
	}
	token, err := auth.Sign(s.auth, user, time.Hour)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// outside are the paths that are not under rest.Root.
var outside = regexp.MustCompile(`^/(healthz|readyz|metrics|openapi\.yaml|docs|\.well-known)`)

// send sends a request as a user, "-" for none.
func (s *service) send(user, method, path, contentType, body string) answer {
	s.t.Helper()
	if !outside.MatchString(path) {
		path = rest.Root + path
	}
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if user != "-" {
		request.Header.Set("Authorization", "Bearer "+s.token(user))
	}
	return s.do(request)
}

func (s *service) do(request *http.Request) answer {
	s.t.Helper()
	response, err := s.server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(got)}
}

// play sends the requests of a script, a line each: user, method, path, body.
// A body that does not start with a bracket is plain text. It gives what was
// sent and answered.
func (s *service) play(script string) []byte {
	s.t.Helper()
	var transcript bytes.Buffer
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if comment, ok := strings.CutPrefix(line, "#"); ok {
			fmt.Fprintf(&transcript, "#%s\n\n", comment)
			continue
		}
		words := strings.SplitN(line, " ", 4)
		user, method, path, body := words[0], words[1], words[2], ""
		if len(words) > 3 {
			body = words[3]
		}
		contentType := ""
		switch {
		case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
			contentType = "application/json"
		case body != "":
			contentType = "text/plain"
		}
		got := s.send(user, method, s.expand(path), contentType, s.expand(body))
		fmt.Fprintf(&transcript, "%s: %s %s\n", user, method, path)
		if body != "" {
			fmt.Fprintf(&transcript, "%s\n", body)
		}
		fmt.Fprintf(&transcript, "=> %d\n", got.status)
		for _, name := range []string{"Allow", "Content-Type", "Retry-After", "WWW-Authenticate"} {
			if value := got.header.Get(name); value != "" {
				fmt.Fprintf(&transcript, "%s: %s\n", name, value)
			}
		}
		fmt.Fprintf(&transcript, "%s\n", got.body)
	}
	return transcript.Bytes()
}

func (s *service) expand(text string) string {
	for name, value := range s.vars {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// scrubUploads takes out what differs from one upload to the next.
func scrubUploads(text []byte) []byte {
	for pattern, name := range map[*regexp.Regexp]string{
		regexp.MustCompile(`\b[A-Z2-7]{26}\b`):   "<upload>",
		regexp.MustCompile(`\bsignature=[\w-]+`): "signature=<signature>",
		regexp.MustCompile(`\bturn=[\w-]+`):      "turn=<turn>",
		regexp.MustCompile(`\bexpires=\d+`):      "expires=<expires>",
	} {
		text = pattern.ReplaceAll(text, []byte(name))
	}
	return text
}

// golden plays a script and compares what came of it.
func (s *service) golden(name, script string) {
	s.t.Helper()
	golden.Assert(s.t, name+".txt", golden.Scrub(scrubUploads(s.play(script))))
}

// create makes a dataset through the store.
func (s *service) create(owner, namespace, name string) {
	s.t.Helper()
	err := s.store.CreateDataset(s.t.Context(), domain.Caller{Username: owner}, namespace, name, domain.Definition{})
	if err != nil {
		s.t.Fatal(err)
	}
}
