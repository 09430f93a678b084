package a2aserver

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// A task that is being worked on is not there for others, and what they try
// does not end it.
func TestOpenTaskIsTheOwners(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		finish := make(gate)
		h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if yield(working(request), nil) {
				finish.wait(ctx)
				yield(completed(request), nil)
			}
		}))
		server := serveHost(t, h)
		asked, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		follow := map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]any{"text": "?"}}, "metadata": map[string]any{"namespace": "alice/shop"}}
		never := uuid.Must(uuid.NewV7()).String()
		for _, try := range []struct {
			method string
			params func(id string) any
			header []string
		}{
			{"GetTask", func(id string) any { return map[string]any{"id": id} }, nil},
			{"CancelTask", func(id string) any { return map[string]any{"id": id} }, nil},
			{"SubscribeToTask", func(id string) any { return map[string]any{"id": id} }, nil},
			{"SubscribeToTask", func(id string) any { return map[string]any{"id": id} }, []string{"Last-Event-ID", "0"}},
			{"SendMessage", func(id string) any { follow["taskId"] = id; return map[string]any{"message": follow} }, nil},
			{"SendStreamingMessage", func(id string) any { follow["taskId"] = id; return map[string]any{"message": follow} }, nil},
		} {
			var answers [2]string
			for i, id := range []string{asked.RunID, never} {
				response := postAs(t, server, bob, rpcText(try.method, try.params(id)), try.header...)
				text, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				answers[i] = response.Header.Get("Content-Type") + " " + string(golden.Scrub(text))
			}
			if answers[0] != answers[1] {
				t.Errorf("%s %v: %s, for a task that never was: %s", try.method, try.header, answers[0], answers[1])
			}
		}
		finish.open()
		if got := numbers(t, h, asked.RunID); got != 2 {
			t.Errorf("%d events, want 2", got)
		}
		if run, err := store.Run(t.Context(), alice, asked.RunID); err != nil || run.Status != domain.RunCompleted {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}

// A read-only token cancels what was asked with it, and nothing else that it sees.
func TestReadOnlyTokenCancels(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reader := readOnly(t, store, "shop")
		h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if yield(working(request), nil) {
				<-ctx.Done()
			}
		}))
		server := serveHost(t, h)
		for _, test := range []struct {
			asker domain.Caller
			want  string
		}{{alice, `"code":-31403,"message":"this token is read-only`}, {reader, "TASK_STATE_CANCELED"}} {
			asked, err := h.Ask(t.Context(), test.asker, inShop)
			if err != nil {
				t.Fatal(err)
			}
			response := postAs(t, server, reader, rpcText("CancelTask", map[string]any{"id": asked.RunID}))
			text, err := io.ReadAll(response.Body)
			if err != nil || !strings.Contains(string(text), test.want) {
				t.Errorf("a run of %+v: %s, %v", test.asker, text, err)
			}
		}
	})
}

// readOnly returns alice a read-only token for a namespace of hers.
func readOnly(t *testing.T, store *sqlstore.Store, namespace string) domain.Caller {
	t.Helper()
	token := domain.NewToken{
		Token: domain.Token{
			ID: uuid.NewString(), Name: namespace, Access: domain.ReadAccess, ExpiresAt: time.Now().Add(time.Hour),
			Restricted: true, Scopes: []domain.Scope{{Owner: "alice", Namespace: namespace}},
		},
		Hash: []byte{1},
	}
	if err := store.CreateToken(t.Context(), alice, token); err != nil {
		t.Fatal(err)
	}
	return domain.Caller{Username: "alice", Restriction: token.ID}
}

// A conversation that a token does not cover is refused in the same words as one
// that never was.
func TestAskInConversationNotCovered(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		if err := store.CreateDataset(t.Context(), alice, "other", "things", domain.Definition{}); err != nil {
			t.Fatal(err)
		}
		restricted := readOnly(t, store, "other")
		h := newHost(t, store, fourEvents)
		asked, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{asked.ConversationID, uuid.NewString()} {
			question := domain.Question{Agent: "echo", Namespace: domain.NamespaceRef{Owner: "alice", Name: "other"}, Text: "?", ConversationID: id}
			_, err := h.Ask(t.Context(), restricted, question)
			var said *domain.Error
			if !errors.Is(err, domain.ErrNotFound) || errors.As(err, &said) {
				t.Errorf("got %v, %v", err, said)
			}
		}
		// Over A2A, one that never was is created.
		message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("?"))
		message.ContextID, message.Metadata = asked.ConversationID, map[string]any{"namespace": "alice/other"}
		_, err = h.services["echo"].SendMessage(as(t, restricted), &a2a.SendMessageRequest{Message: message})
		var said *domain.Error
		if !errors.As(err, &said) || len(said.Fields) != 1 || said.Fields[0].Field != "message.contextId" {
			t.Errorf("over A2A: %v", err)
		}
	})
}
