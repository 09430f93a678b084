package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
)

// TestRevokingEndsStreams revokes tokens, at the same replica and at another, while
// their requests follow a run that goes on.
func TestRevokingEndsStreams(t *testing.T) {
	t.Parallel()
	const question = `{"username":"alice","namespace":"shop","query":"How many?"}`
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s, other := newService(t, store), newService(t, store)
		s.haveConversation()
		following := make(chan struct{})
		s.agents.follow = func(ctx context.Context, _ string, yield func(domain.Progress, error) bool) {
			following <- struct{}{}
			<-ctx.Done()
			yield(domain.Progress{}, ctx.Err())
		}
		for _, restriction := range []string{"", `,"accessRestrictedTo":[{"username":"alice","namespace":"shop"}]`} {
			for where, replica := range map[string]*service{"here": s, "elsewhere": other} {
				for _, path := range []string{"/query/ask", "/query/autorag", "/query/runs/" + s.vars["running"] + "/resume"} {
					name := fmt.Sprint(path, restriction, " revoked ", where)
					s.makeToken("open", "alice", `{"name":"open"`+restriction+`}`)
					revoked := make(chan struct{})
					go func() {
						defer close(revoked)
						select {
						case <-following:
						case <-t.Context().Done(): // the test has failed
							return
						}
						got := replica.send("alice", "DELETE", "/user/token/"+s.vars["open-id"], "", "")
						if got.status != http.StatusOK {
							t.Errorf("%s: revoke: %d %s", name, got.status, got.body)
						}
					}()
					request, err := http.NewRequestWithContext(t.Context(), "POST", s.server.URL+rest.Root+path, strings.NewReader(question))
					if err != nil {
						t.Fatal(err)
					}
					request.Header.Set("Content-Type", "application/json")
					request.Header.Set("Authorization", "Bearer "+s.vars["open"])
					response, err := s.server.Client().Do(request)
					if err != nil {
						t.Fatal(err)
					}
					text, err := io.ReadAll(response.Body)
					_ = response.Body.Close()
					if path == "/query/autorag" {
						if response.StatusCode != http.StatusUnauthorized || !strings.Contains(string(text), "the token has been revoked") {
							t.Fatalf("%s: %d %s", name, response.StatusCode, text)
						}
					} else if err == nil || !strings.Contains(string(text), "run-started") {
						t.Fatalf("%s: the stream was not broken off: %s", name, text)
					}
					<-revoked
				}
			}
		}
	})
}
