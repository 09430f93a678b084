package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
	"parley/internal/domain"
)

// commands are those of this package that need no terminal.
type commands struct {
	Ask         Ask         `cmd:""`
	Tasks       Tasks       `cmd:""`
	Cancel      Cancel      `cmd:""`
	Ingest      Ingest      `cmd:""`
	Query       Query       `cmd:""`
	Datasets    Datasets    `cmd:""`
	Describe    Describe    `cmd:""`
	Head        Head        `cmd:""`
	Download    Download    `cmd:""`
	Rename      Rename      `cmd:""`
	Delete      Delete      `cmd:""`
	Share       Share       `cmd:""`
	Rules       Rules       `cmd:""`
	Tokens      Tokens      `cmd:""`
	Open        Open        `cmd:""`
	Card        Card        `cmd:""`
	Healthcheck Healthcheck `cmd:""`
}

// run runs a command line.
func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var flags command.Flags
	parser := kong.Must(&commands{}, &flags, kong.BindTo(t.Context(), (*context.Context)(nil)))
	parsed, err := parser.Parse(args)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Run(command.Env{Stdout: &out, Stderr: io.Discard, Model: parser.Model, Problems: flags.Problems(parsed)})
	return out.String(), err
}

// alice is a token whose claims name alice. Nobody verifies it here.
const alice = "x.eyJzdWIiOiJhbGljZSJ9.y"

// TestWrongUsage has command lines that are refused before a server is called.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s was called", r.URL) }))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"datasets a//b":                                 "WHICH must be",
		"datasets a/b/c/d":                              "WHICH must be",
		"datasets .":                                    "WHICH ",
		"describe ":                                     "DATASET is empty",
		"head orders":                                   "DATASET ",
		"head shop/orders --rows 0":                     "must be a number from 1 on",
		"download shop/orders --output " + file:         "must name a new file",
		"download shop/orders --format xlsx":            "must be one of",
		"rename shop/orders a/b":                        "NAME ",
		"rename orders b":                               "DATASET ",
		"delete shop/orders":                            "is needed where nobody can be asked",
		"delete orders --yes":                           "DATASET ",
		"delete shop/orders --yes=perhaps":              "must be true or false",
		"share shop/":                                   "has no name after the /",
		"share bob/shop/orders bob":                     "WHAT must be",
		"share shop bob --role owner":                   "must be viewer or editor",
		"share shop a/b":                                "USER ",
		"share shop --revoke":                           "needs a USER",
		"cancel  x":                                     "TASK is empty",
		"ingest " + file:                                "or --namespace must be given",
		"ingest " + file + " -d shop/a -n shop":         "cannot both be given",
		"ingest " + file + " " + file + " -n shop":      "one dataset a for",
		"ingest " + file + " -d shop/a --retype a":      "must be COLUMN=TYPE",
		"ingest " + file + " -d shop/a --retype a=x":    "a must be",
		"ingest " + file + " -d shop/a --header-row=-1": "must be a number from 0 on",
		"healthcheck --listen 8080":                     "must be an address",
		"datasets --server ftp://x":                     "must be an http or https address",
		"datasets --server http://a:b@x":                "without a password",
		"datasets --json=perhaps":                       "must be true or false",
	} {
		args := strings.Split(line, " ")
		if !strings.Contains(line, "--server") && args[0] != "healthcheck" {
			args = append(args, "--server", server.URL)
		}
		if args[0] != "healthcheck" {
			args = append(args, "--token", alice)
		}
		if out, err := run(t, args...); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%q: %q, %v, want %q", line, out, err, want)
		}
	}
}

func TestNoToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]error{"": command.ErrNoToken, " \n": command.ErrNoToken, "a\nb": command.ErrBadToken, "a\x1bb": command.ErrBadToken} {
		if _, err := run(t, "datasets", "--token", token); !errors.Is(err, want) {
			t.Errorf("%q: %v", token, err)
		}
	}
}

// TestCalls has commands with the requests that they send, the answers that they get and what
// they print.
func TestCalls(t *testing.T) {
	t.Parallel()
	const missing = `404 {"error_code":"NOT_FOUND","message":"not found"}`
	const orders = `{"dataset":{"name":"orders","namespace":"shop","owner":"alice"},"metadata":{"rowCount":2,"columns":[{"name":"id","type":"BIGINT"}]}}`
	for line, test := range map[string]struct {
		answers map[string]string // by request; with a status, if it is not 200
		prints  string
		fails   string
	}{
		"rename shop/orders sales": {map[string]string{`POST /data/self/shop/orders/rename sales`: ``}, "shop/orders is shop/sales now.\n", ""},
		"rename bob/lab/mice rats": {map[string]string{`POST /data/bob/lab/mice/rename rats`: missing}, "", "rename bob/lab/mice: "},
		"delete shop/orders --yes": {map[string]string{`GET /data/self/shop/orders`: orders, `DELETE /data/self/shop/orders`: ``}, "shop/orders is deleted.\n", ""},
		"delete shop/none -y":      {map[string]string{`GET /data/self/shop/none`: missing}, "", "look for shop/none: "},
		"share shop Bob": {map[string]string{`POST /permissions/namespaces/self/shop/shares {"username":"Bob","role":"viewer"}`: ``},
			"bob can read shop now.\n", ""},
		"share alice/shop/orders bob --role editor": {map[string]string{`POST /permissions/datasets/self/shop/orders/shares {"username":"bob","role":"editor"}`: ``},
			"bob can read and change shop/orders now.\n", ""},
		"share shop bob --revoke": {map[string]string{`DELETE /permissions/namespaces/self/shop/shares {"username":"bob","role":"viewer"}`: missing},
			"", "shop is not shared with bob"},
		"share alice/shop": {map[string]string{`GET /permissions/datasets/self/alice/shop/shares`: missing}, "", "you have no namespace alice with a dataset shop"},
		"share shop": {map[string]string{`GET /permissions/namespaces/self/shop/shares`: `[]`, `GET /schema/self/shop/datasets`: `[{"name":"a"},{"name":"gone"}]`,
			`GET /permissions/datasets/self/shop/a/shares`: `[]`, `GET /permissions/datasets/self/shop/gone/shares`: missing}, "shop is shared with nobody.\n", ""},
		"rules shop/orders bob region='south'": {map[string]string{`POST /permissions/datasets/self/shop/orders/rules {"username":"bob","condition":"region='south'"}`: `{"visibleRows":2,"rowCount":3}`},
			"bob sees 2 of 3 rows of shop/orders now.\n", ""},
		"rules shop/orders group:south --column region --claim area": {map[string]string{`POST /permissions/datasets/self/shop/orders/rules {"username":"group:south","column":"region","claim":"area"}`: `{}`},
			"group:south sees the rows of shop/orders whose region is in the claim area now.\n", ""},
		"rules shop/orders bob --remove": {map[string]string{`DELETE /permissions/datasets/self/shop/orders/rules {"username":"bob"}`: ``}, "The rule for bob is removed. Without rules, all rows of shop/orders are visible; with others, bob sees none.\n", ""},
		"rules shop/orders":              {map[string]string{`GET /permissions/datasets/self/shop/orders/rules`: `[]`}, "shop/orders has no row rules.\n", ""},
		"rules shop/orders bob":          {nil, "", "wrong settings:\n  give a CONDITION, --column and --claim, or --remove"},
		"rules shop":                     {nil, "", "wrong settings:\n  DATASET must be"},
		"datasets bob/lab --format csv":  {map[string]string{`GET /schema/bob/lab/datasets`: missing, `GET /data/self/bob/lab`: missing}, "", "look for bob/lab: "},
		"datasets shop/orders --json":    {map[string]string{`GET /schema/shop/orders/datasets`: missing, `GET /data/self/shop/orders`: orders}, orders, ""},
		"datasets shop":                  {map[string]string{`GET /schema/self/shop/datasets`: `{"dataset":7}`}, "", "read the server's answer"},
		"head shop/orders -f csv":        {map[string]string{`GET /data/self/shop/orders/rows?limit=10`: `{"data":[{"id":1,"__metadata":{}}],"metadata":{}}`}, "id\n1\n", ""},
		"download shop/orders -o -":      {map[string]string{`GET /data/self/shop/orders/download?format=csv`: "id\n1\n"}, "id\n1\n", ""},
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				request := strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, strings.TrimPrefix(r.URL.String(), "/api/v1"), body))
				answer, ok := test.answers[request]
				if !ok || r.Header.Get("Authorization") != "Bearer "+alice {
					t.Errorf("sent %s %v", request, r.Header)
				}
				if rest, refused := strings.CutPrefix(answer, "404 "); refused {
					w.WriteHeader(http.StatusNotFound)
					answer = rest
				}
				_, _ = io.WriteString(w, answer)
			}))
			t.Cleanup(server.Close)
			out, err := run(t, append(strings.Split(line, " "), "--server", server.URL, "--token", alice)...)
			if (err == nil) != (test.fails == "") || err != nil && !strings.HasPrefix(err.Error(), test.fails) {
				t.Errorf("it fails with %v", err)
			}
			if json.Valid([]byte(test.prints)) {
				var got, want any
				_, _ = json.Unmarshal([]byte(out), &got), json.Unmarshal([]byte(test.prints), &want)
				out, test.prints = fmt.Sprint(got), fmt.Sprint(want)
			}
			if out != test.prints {
				t.Errorf("it prints %q", out)
			}
		})
	}
}

// TestIngestOptions reads the flags that say how files are read.
func TestIngestOptions(t *testing.T) {
	t.Parallel()
	c := command.Env{}.NewChecker()
	got := ingestFlags{Delimiter: "TAB", HeaderRow: new(int), Retype: []string{"a=b=integer", "day=date:dmy"}, Union: true}.options(c)
	if c.Err() != nil || got.Delimiter != "\t" || got.HeaderRow == nil || *got.HeaderRow != 0 || !got.Union || len(got.Types) != 2 || got.Types["a=b"] == "" {
		t.Errorf("%+v, %v", got, c.Err())
	}
	if none := (ingestFlags{}).options(c); fmt.Sprint(none) != fmt.Sprint(domain.IngestOptions{}) {
		t.Errorf("no flags: %+v", none)
	}
}
