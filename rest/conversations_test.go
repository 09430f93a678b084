package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/rest"
	"parley/storage"
	"parley/storage/sqlstore/sqlstoretest"
)

// longConversation writes a conversation of alice's with completed turns whose
// results have about size bytes each, and gives its id.
func (s *service) longConversation(turns, size int) string {
	s.t.Helper()
	s.create("alice", "shop", "orders")
	alice, ctx, conversation := storage.Caller{Username: "alice"}, s.t.Context(), uuid.NewString()
	result := json.RawMessage(`{"response":"` + strings.Repeat("x", size) + `","steps":[]}`)
	for range turns {
		run, err := sqlstoretest.Ask(ctx, s.store, alice, storage.Question{
			ConversationID: conversation, Namespace: storage.NamespaceRef{Owner: "alice", Name: "shop"},
			Agent: "assistant", Text: "How many orders were there?",
		})
		if err == nil {
			err = sqlstoretest.Finish(ctx, s.store, alice, run.RunID, storage.RunOutcome{Status: storage.RunCompleted, Result: result})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return conversation
}

// TestALongConversationIsSentInPieces reads more than fits in one buffer, and
// sees that it is whole.
func TestALongConversationIsSentInPieces(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	id := s.longConversation(40, 40<<10)
	got := s.send("alice", http.MethodGet, "/query/conversations/"+id, "", "")
	var conversation struct {
		Turns []struct{ Result json.RawMessage }
	}
	if err := json.Unmarshal([]byte(got.body), &conversation); err != nil || len(conversation.Turns) != 40 {
		t.Errorf("%d turns in %d bytes: %v", len(conversation.Turns), len(got.body), err)
	}
}

// failingTurns is a store that fails when most of a conversation has been read.
type failingTurns struct{ storage.Store }

func (f failingTurns) Conversation(ctx context.Context, caller storage.Caller, id string) (string, iter.Seq2[storage.Turn, error], error) {
	title, turns, err := f.Store.Conversation(ctx, caller, id)
	return title, func(yield func(storage.Turn, error) bool) {
		count := 0
		for turn, err := range turns {
			if count++; count > 30 {
				err = errors.New("the disk is gone")
			}
			if !yield(turn, err) {
				return
			}
		}
	}, err
}

// TestABrokenConversationIsBrokenOff has the store fail after the first piece
// was sent: the client must be able to tell.
func TestABrokenConversationIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Store = failingTurns{cfg.Store} })
	id := s.longConversation(40, 40<<10)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+rest.Root+"/query/conversations/"+id, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	response, err := s.server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("a broken answer looked whole")
	}
}
