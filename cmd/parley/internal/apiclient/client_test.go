package apiclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRedirects follows a redirect on the same server. It sends nothing to another one, also on
// another port of the host, which gets the headers of a redirected request by default.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with the token %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/here":
			_, _ = w.Write([]byte(`{"name":"` + r.Header.Get("Authorization") + `"}`))
		case "/api/v1/moved":
			http.Redirect(w, r, "/api/v1/here", http.StatusTemporaryRedirect)
		case "/api/v1/loop":
			http.Redirect(w, r, "/api/v1/loop", http.StatusTemporaryRedirect)
		case "/api/v1/list":
			_, _ = w.Write([]byte(`["a"]`))
		default:
			http.Redirect(w, r, other.URL+"/api/v1/here", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	client := New(server.URL, "secret", 1)
	var got struct{ Name string }
	if err := client.Call(t.Context(), http.MethodGet, "/moved", nil, &got); err != nil || got.Name != "Bearer secret" {
		t.Errorf("%+v, %v", got, err)
	}
	for path, want := range map[string]string{
		"/elsewhere": "the response is a redirect to " + other.URL + "; use that address if you trust it",
		"/loop":      "a redirect without an end",
		"/list":      "the response is JSON of another form",
	} {
		var foreign *ForeignError
		err := client.Call(t.Context(), http.MethodPost, path, map[string]string{"a": "b"}, &got)
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "no Parley server is at "+server.URL+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, _, err := client.Download(t.Context(), "/elsewhere"); err == nil {
		t.Error("a download was redirected")
	}
}
