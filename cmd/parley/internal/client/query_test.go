package client

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/cmd/parley/internal/command"
)

// A result that is not complete prints nothing, or an error after what there is.
func TestIncompleteRows(t *testing.T) {
	t.Parallel()
	const page = `{"data":[{"n":1}],"metadata":{"truncated":true,"totalRows":3}}`
	for name, test := range map[string]struct {
		lines  func(w http.ResponseWriter)
		stdout string
		failed string
	}{
		"all rows": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			_, _ = io.WriteString(w, "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n")
		}, "n\n1\n2\n3\n", ""},
		"no rows": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("X-Columns", `["n","\u00e9"]`)
		}, "n,é\n", ""},
		"an older server": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			_, _ = io.WriteString(w, page)
		}, "", "may be older"},
		"a response that breaks off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{\"n\":1}\n")
		}, "", "EOF"},
		"a refusal": {func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"error_code":"VALIDATION_FAILED","message":"the result would be larger than 1024 MiB"}`)
		}, "", "1024 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queries := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					queries++
				}
				if r.Header.Get("Accept") == "application/x-ndjson" {
					test.lines(w)
					return
				}
				_, _ = io.WriteString(w, page)
			}))
			t.Cleanup(server.Close)
			connection := connectionSettings{Server: server.URL, Token: "token"}
			var stdout strings.Builder
			env := command.Env{Stdout: &stdout, Stderr: io.Discard}
			query := Query{SQL: []string{"SELECT"}, Namespace: "alice/shop", connectionSettings: connection}
			query.Format = "csv"
			err := query.Run(t.Context(), env)
			if stdout.String() != test.stdout || !strings.Contains(fmt.Sprint(err), test.failed) || (err == nil) != (test.failed == "") || queries != 1 {
				t.Errorf("%q %v after %d queries", stdout.String(), err, queries)
			}
			stdout.Reset()
			head := Head{Dataset: "shop/orders", Rows: 3, connectionSettings: connection}
			head.Format = "csv"
			if err := head.Run(t.Context(), env); stdout.String() != "n\n1\n" || !strings.Contains(fmt.Sprint(err), "only the first 1 row") {
				t.Errorf("head: %q %v", stdout.String(), err)
			}
		})
	}
}
