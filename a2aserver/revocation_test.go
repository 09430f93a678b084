package a2aserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
)

// TestRevokedDuringRequest ends the context of requests that wait for a run as a
// revoked token does: they are answered so, and the run goes on.
func TestRevokedDuringRequest(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	finish, atWork := make(gate), make(chan struct{}, 8)
	h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(working(request), nil) {
			atWork <- struct{}{}
			finish.wait(ctx)
			yield(completed(request), nil)
		}
	}))
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	<-atWork
	for _, try := range []struct {
		method string
		params any
		// streams says that there are events before the run's end.
		streams bool
	}{
		{"SendMessage", toShop("?"), false},
		{"SendStreamingMessage", toShop("?"), true},
		{"SubscribeToTask", map[string]any{"id": asked.RunID}, true},
	} {
		ctx, end := context.WithCancelCause(t.Context())
		revoke := func() { end(domain.Errorf(domain.ErrUnauthorized, "the token has been revoked")) }
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = h.Call(w, r.WithContext(ctx), alice, "echo", "", body)
			}
			if err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(server.Close)
		if !try.streams {
			go func() {
				<-atWork
				revoke()
			}()
		}
		lines := bufio.NewReader(postAs(t, server, alice, rpcText(try.method, try.params)).Body)
		if try.streams {
			if _, err := read(lines); err != nil {
				t.Fatal(err)
			}
			revoke()
		}
		text, err := io.ReadAll(lines)
		if err != nil || !strings.Contains(string(text), `"code":-31401,"message":"the token has been revoked"`) {
			t.Errorf("%s: %s, %v", try.method, text, err)
		}
	}
	finish.open()
	if got := numbers(t, h, asked.RunID); got != 2 {
		t.Errorf("the run has %d events, want 2", got)
	}
}
