package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/storage/sqlstore"
)

const writers = 8

// together runs fn in writers goroutines, started at the same moment.
func together(fn func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(writers)
	for i := range writers {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			fn(i)
		})
	}
	done.Wait()
}

func TestOneOfManyCreatesADataset(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		for round := range 10 {
			var created atomic.Int32
			together(func(int) {
				err := store.CreateDataset(t.Context(), user("alice"), fmt.Sprint("ns", round), "one", domain.Definition{})
				if err == nil {
					created.Add(1)
				} else if !errors.Is(err, domain.ErrConflict) {
					t.Error(err)
				}
			})
			if created.Load() != 1 {
				t.Fatalf("round %d: %d writers created the dataset", round, created.Load())
			}
		}
	})
}

// TestWritesTakeTurns queues many changes of one user before one of another, who waits for about one
// of them. Work for nobody in particular waits for none.
func TestWritesTakeTurns(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	of := func(name string) context.Context { return fair.WithUser(t.Context(), name) }
	release := store.HoldWriter(of("mallory"), t)
	var mu sync.Mutex
	var order []string
	var done sync.WaitGroup
	create := func(name, dataset string) {
		waiting := store.WaitingWrites()
		done.Go(func() {
			err := store.CreateDataset(of(name), user(name), "ns", dataset, domain.Definition{})
			mu.Lock()
			defer mu.Unlock()
			if order = append(order, name); err != nil {
				t.Error(err)
			}
		})
		waittest.Until(t, "the change waits", func() bool { return store.WaitingWrites() == waiting+1 })
	}
	for i := range 20 {
		create("mallory", fmt.Sprint("d", i))
	}
	create("bob", "d")
	if err := store.CreateDataset(t.Context(), user("carol"), "ns", "d", domain.Definition{}); err != nil {
		t.Error(err)
	}
	release()
	done.Wait()
	if at := slices.Index(order, "bob"); at > 5 { // they note their ends in any order
		t.Errorf("bob waited for %d changes of mallory", at)
	}
}

func TestParallelGrantsAreOne(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		roles := []domain.Role{domain.Viewer, domain.Editor}
		together(func(i int) {
			grant := domain.Grant{Username: "bob", Role: roles[i%2]}
			if err := w.ShareNamespace(t.Context(), user("alice"), nsRef("alice", "ns"), grant); err != nil {
				t.Error(err)
			}
			if err := w.ShareDataset(t.Context(), user("alice"), dsRef("alice", "ns", "one"), grant); err != nil {
				t.Error(err)
			}
		})
		onNamespace, err := w.NamespaceShares(t.Context(), user("alice"), nsRef("alice", "ns"))
		w.must(err)
		onDataset, err := w.DatasetShares(t.Context(), user("alice"), dsRef("alice", "ns", "one"))
		w.must(err)
		if len(onNamespace) != 1 || len(onDataset) != 1 {
			t.Errorf("grants after parallel sharing: %v, %v", onNamespace, onDataset)
		}
	})
}

// TestNoUpdateIsLost has half of the writers set one part of a definition and
// half the other: both must stand.
func TestNoUpdateIsLost(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		one := dsRef("alice", "ns", "one")
		for round := range 10 {
			want := fmt.Sprint("round ", round)
			together(func(i int) {
				patch := domain.DefinitionPatch{Definition: domain.Definition{Description: &want}, SetDescription: true}
				if i%2 == 0 {
					patch = domain.DefinitionPatch{Definition: domain.Definition{Schema: map[string]string{"f": want}}, SetSchema: true}
				}
				if err := w.UpdateDefinition(t.Context(), user("alice"), one, patch); err != nil {
					t.Error(err)
				}
			})
			d, err := w.Dataset(t.Context(), user("alice"), one)
			w.must(err)
			if *d.Definition.Description != want || d.Definition.Schema["f"] != want {
				t.Fatalf("%s: an update was lost: %q, %v", want, *d.Definition.Description, d.Definition.Schema)
			}
		}
	})
}

func TestParallelClearsAllCount(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		together(func(int) {
			if err := w.ClearDataset(t.Context(), user("alice"), dsRef("alice", "ns", "one")); err != nil {
				t.Error(err)
			}
		})
		if got := w.data().Version; got != 1+writers {
			t.Errorf("version %d after %d clears", got, writers)
		}
	})
}

// TestReadsAreWhole reads a definition while writers replace both of its parts
// at once: no reader may see the one without the other.
func TestReadsAreWhole(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		one := dsRef("alice", "ns", "one")
		set := func(i int) error {
			text := fmt.Sprint("text ", i)
			return w.UpdateDefinition(t.Context(), user("alice"), one, domain.DefinitionPatch{
				Definition:     domain.Definition{Description: &text, Schema: map[string]string{"f": text}},
				SetDescription: true, SetSchema: true})
		}
		w.must(set(-1))
		together(func(i int) {
			for n := range 20 {
				if i%2 == 0 {
					if err := set(i*100 + n); err != nil {
						t.Error(err)
					}
					continue
				}
				d, err := w.Dataset(t.Context(), user("alice"), one)
				if err != nil {
					t.Error(err)
				} else if *d.Definition.Description != d.Definition.Schema["f"] {
					t.Errorf("torn read: %q beside %q", *d.Definition.Description, d.Definition.Schema["f"])
				}
			}
		})
	})
}

// TestDeletionLeavesNothingBehind has writers put datasets into a namespace
// that others delete: in the end every dataset that was made is either there,
// with its namespace, or gone.
func TestDeletionLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		alice := user("alice")
		together(func(i int) {
			for n := range 10 {
				var err error
				if i%2 == 0 {
					err = w.CreateDataset(t.Context(), alice, "busy", fmt.Sprintf("d%d-%d", i, n), domain.Definition{})
				} else {
					err = w.DeleteNamespace(t.Context(), alice, nsRef("alice", "busy"), true)
				}
				if err != nil && !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound) {
					t.Error(err)
				}
			}
		})
		if err := w.DeleteNamespace(t.Context(), alice, nsRef("alice", "busy"), true); err != nil && !errors.Is(err, domain.ErrNotFound) {
			t.Fatal(err)
		}
		if got := w.visible(alice); got != "alice/ns/one alice/ns/two" {
			t.Errorf("left behind: %q", got)
		}
	})
}

func TestParallelQuestionsShareAConversation(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		id := uuid.NewString()
		together(func(i int) {
			if _, err := w.tryToAsk(user("alice"), "ns", id, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
		if turns := strings.Split(w.questions(user("alice"), id), " | "); len(turns) != writers {
			t.Errorf("turns: got %v, want %d", turns, writers)
		}
	})
}

// TestOneFinishWins has writers end the same run: one of them does.
func TestOneFinishWins(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		run := w.ask(user("alice"), "ns", uuid.NewString(), "?")
		var won atomic.Int32
		together(func(int) {
			err := w.finish(user("alice"), run.RunID, domain.RunOutcome{Status: domain.RunCompleted})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, domain.ErrConflict) {
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Errorf("%d writers finished the run", won.Load())
		}
	})
}

// TestAConversationGoesWithItsLastRun has writers delete a conversation's runs,
// each a different one.
func TestAConversationGoesWithItsLastRun(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for range 5 {
			id := uuid.NewString()
			runs := make([]domain.Question, writers)
			for i := range runs {
				runs[i] = w.ask(user("alice"), "ns", id, "?")
			}
			together(func(i int) {
				if err := w.DeleteRun(t.Context(), user("alice"), runs[i].RunID); err != nil {
					t.Error(err)
				}
			})
			if list, err := w.Conversations(t.Context(), user("alice"), domain.NamespaceRef{}); err != nil || len(list) != 0 {
				t.Fatalf("the conversation outlived its runs: %v, %v", list, err)
			}
		}
	})
}

// TestNamesChangeTogether has writers swap names, and delete what others fill:
// none of them may be told of anything but the state they met.
func TestNamesChangeTogether(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		grant := domain.Grant{Username: "bob", Role: domain.Viewer}
		doings := []func(n int) error{
			func(int) error { return w.RenameDataset(ctx, alice, dsRef("alice", "ns", "one"), "two") },
			func(int) error { return w.RenameDataset(ctx, alice, dsRef("alice", "ns", "two"), "one") },
			func(int) error { return w.RenameNamespace(ctx, alice, nsRef("alice", "ns"), "other") },
			func(int) error { return w.RenameNamespace(ctx, alice, nsRef("alice", "other"), "ns") },
			func(n int) error {
				return w.CreateDataset(ctx, alice, "other", fmt.Sprint("d", n), domain.Definition{})
			},
			func(int) error { return w.DeleteNamespace(ctx, alice, nsRef("alice", "other"), true) },
			func(n int) error {
				return w.ShareDataset(ctx, alice, dsRef("alice", "other", fmt.Sprint("d", n)), grant)
			},
			func(int) error { return w.ShareNamespace(ctx, alice, nsRef("alice", "other"), grant) },
		}
		together(func(i int) {
			for n := range 20 {
				err := doings[i](n)
				renames := i < 5 // and creates: these can find a name taken
				if err != nil && !errors.Is(err, domain.ErrNotFound) && !(renames && errors.Is(err, domain.ErrConflict)) {
					t.Errorf("doing %d: %v", i, err)
				}
			}
		})
	})
}

// TestARestrictedTokenDeletesWhatItCovers has a token for one namespace delete a
// conversation while its user asks in it about another: that run must stay.
func TestARestrictedTokenDeletesWhatItCovers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		ctx, narrow := t.Context(), w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		for range 20 {
			id := w.ask(narrow, "ns", uuid.NewString(), "here").ConversationID
			var elsewhere domain.Question
			var asked error
			together(func(i int) {
				switch i {
				case 0:
					elsewhere, asked = w.tryToAsk(user("alice"), "other", id, "elsewhere")
				case 1:
					err := w.DeleteConversation(ctx, narrow, id)
					if err != nil && !errors.Is(err, domain.ErrForbidden) {
						t.Error(err)
					}
				}
			})
			if asked != nil && !errors.Is(asked, domain.ErrNotFound) {
				t.Error(asked)
			}
			if _, err := w.Run(ctx, user("alice"), elsewhere.RunID); asked == nil && err != nil {
				t.Fatalf("a run was deleted that the token does not cover: %v", err)
			}
		}
	})
}

// TestANameMeansTheSameToTheEnd has a token for one dataset clear it while its
// user gives it another name.
func TestANameMeansTheSameToTheEnd(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		narrow := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		words := "by the token"
		for range 10 {
			together(func(i int) {
				var err error
				switch i {
				case 0:
					err = w.RenameDataset(ctx, alice, dsRef("alice", "ns", "one"), "private")
					if err == nil {
						var d domain.Dataset
						d, err = w.Dataset(ctx, alice, dsRef("alice", "ns", "private"))
						before := d.Definition.Description
						for range 5 {
							d, err = w.Dataset(ctx, alice, dsRef("alice", "ns", "private"))
							if err == nil && (before == nil) != (d.Definition.Description == nil) {
								t.Error("a token changed what it did not cover any more")
							}
						}
					}
				case 1:
					err = w.UpdateDefinition(ctx, narrow, dsRef("alice", "ns", "one"), domain.DefinitionPatch{
						Definition: domain.Definition{Description: &words}, SetDescription: true})
				}
				if err != nil && !errors.Is(err, domain.ErrNotFound) {
					t.Error(err)
				}
			})
			w.must(w.RenameDataset(ctx, alice, dsRef("alice", "ns", "private"), "one"))
			w.must(w.UpdateDefinition(ctx, alice, dsRef("alice", "ns", "one"), domain.DefinitionPatch{SetDescription: true}))
		}
	})
}

// TestRunsAndConversationsGoTogether has writers delete a conversation and its
// runs at once.
func TestRunsAndConversationsGoTogether(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for range 5 {
			id := uuid.NewString()
			runs := make([]domain.Question, writers)
			for i := range runs {
				runs[i] = w.ask(user("alice"), "ns", id, "?")
			}
			together(func(i int) {
				err := w.DeleteRun(t.Context(), user("alice"), runs[i].RunID)
				if i%2 == 0 {
					err = w.DeleteConversation(t.Context(), user("alice"), id)
				}
				if err != nil && !errors.Is(err, domain.ErrNotFound) {
					t.Error(err)
				}
			})
		}
	})
}
