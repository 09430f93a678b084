package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
)

// longConversation writes a conversation of a user's with completed turns whose
// results have about size bytes each, and gives its id.
func (s *service) longConversation(user string, turns, size int) string {
	s.t.Helper()
	s.create(user, "shop", "orders")
	caller, ctx, conversation := domain.Caller{Username: user}, s.t.Context(), uuid.NewString()
	result := json.RawMessage(`{"response":"` + strings.Repeat("x", size) + `","steps":[]}`)
	for range turns {
		run, err := sqlstoretest.Ask(ctx, s.store, caller, domain.Question{
			ConversationID: conversation, Namespace: domain.NamespaceRef{Owner: user, Name: "shop"},
			Agent: "assistant", Text: "How many orders were there?",
		})
		if err == nil {
			err = sqlstoretest.Finish(ctx, s.store, caller, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: result})
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
	id := s.longConversation("alice", 40, 40<<10)
	got := s.send("alice", http.MethodGet, "/query/conversations/"+id, "", "")
	var conversation struct {
		Turns []struct{ Result json.RawMessage }
	}
	if err := json.Unmarshal([]byte(got.body), &conversation); err != nil || len(conversation.Turns) != 40 {
		t.Errorf("%d turns in %d bytes: %v", len(conversation.Turns), len(got.body), err)
	}
}

// runIDs reads a page of a conversation.
func (s *service) runIDs(id, query string) []string {
	s.t.Helper()
	got := s.send("alice", http.MethodGet, "/query/conversations/"+id+query, "", "")
	var conversation struct {
		Turns []struct {
			RunID  string
			Result json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(got.body), &conversation); err != nil || got.status != http.StatusOK || conversation.Turns == nil {
		s.t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	ids := []string{}
	for _, turn := range conversation.Turns {
		ids = append(ids, turn.RunID)
		if len(turn.Result) < 20<<10 {
			s.t.Errorf("%s: a result of %d bytes", query, len(turn.Result))
		}
	}
	return ids
}

func TestPagesOfAConversation(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	id := s.longConversation("alice", 5, 20<<10)
	all := s.runIDs(id, "")
	for query, want := range map[string][]string{
		"?limit=2":                    all[3:],
		"?limit=2&before=" + all[3]:   all[1:3],
		"?limit=100&before=" + all[3]: all[:3],
		"?before=" + all[1]:           all[:1],
		"?limit=2&before=" + all[0]:   {},
		"?limit=5":                    all,
	} {
		if got := s.runIDs(id, query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"?limit=0", "?limit=101", "?limit=", "?limit=x", "?before=", "?before=x", "?before=" + uuid.NewString()} {
		s.checkError(query, s.send("alice", http.MethodGet, "/query/conversations/"+id+query, "", ""), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	}
}

// TestLargeReadsTakeTurns has a user's memory for large answers taken: the user is
// told to come back, and others read on.
func TestLargeReadsTakeTurns(t *testing.T) {
	t.Parallel()
	reads := fair.New(fair.Config{What: "large answers", Slots: 64 << 10, SlotsPerUser: 32 << 10, MaxQueued: 10, MaxQueuedPerUser: 10, FirstImmediately: true})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Reads = reads })
	s.rest.SetQueueTimeout(time.Millisecond)
	id := s.longConversation("alice", 2, 40<<10)
	run := s.runIDs(id, "")[0]
	place, err := reads.AcquireN("alice", 32<<10)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/query/conversations/" + id, "/query/runs/" + run} {
		s.checkError(path, s.send("alice", http.MethodGet, path, "", ""), http.StatusTooManyRequests, "TOO_MANY_REQUESTS")
	}
	bob, err := reads.AcquireN("bob", 32<<10)
	if err != nil || bob.Wait(t.Context()) != nil {
		t.Errorf("bob waits for alice: %v", err)
	}
	bob.Release()
	place.Release()
	others := []*fair.Slot{reads.AcquireUnboundedN("bob", 32<<10), reads.AcquireUnboundedN("carol", 32<<10)}
	s.runIDs(id, "") // which waits for no other user
	for _, other := range others {
		other.Release()
	}
	if got := reads.Stats(); got.Running != 0 || got.Waiting != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

// TestLargeResultsLeaveConnections has more users read large results than the
// embedded database has connections: some are left for other reads.
func TestLargeResultsLeaveConnections(t *testing.T) {
	t.Parallel()
	const users, connections = 12, 8
	s := newService(t, sqlstoretest.SQLite(t))
	var paths [users]string
	for i := range users {
		paths[i] = "/query/conversations/" + s.longConversation(fmt.Sprint("user", i), 1, 40<<10)
	}
	loads := s.rest.Loads()
	held := make([]*fair.Slot, connections/2)
	for i := range held {
		held[i] = loads.AcquireUnbounded(fmt.Sprint("other", i))
		if err := held[i].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range users {
		all.Go(func() {
			if got := s.send(fmt.Sprint("user", i), http.MethodGet, paths[i], "", ""); got.status != http.StatusOK {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	waittest.Until(t, "all users wait for those that read", func() bool { return loads.Stats().Waiting == users })
	for _, slot := range held {
		slot.Release()
	}
	all.Wait()
}

// failingInput are agents that cannot say what a run asks.
type failingInput struct{ rest.Agents }

func (failingInput) Input(context.Context, domain.Caller, string) (*domain.Input, error) {
	return nil, errors.New("the disk is gone")
}

// TestABrokenConversationIsBrokenOff has the last turn fail after the first piece
// was sent: the client must be able to tell.
func TestABrokenConversationIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Agents = failingInput{cfg.Agents} })
	id := s.longConversation("alice", 40, 40<<10)
	question := domain.Question{ConversationID: id, Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "assistant", Text: "Which?"}
	if _, err := sqlstoretest.Ask(t.Context(), s.store, domain.Caller{Username: "alice"}, question); err != nil {
		t.Fatal(err)
	}
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
