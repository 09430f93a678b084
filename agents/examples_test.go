package agents_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/agents"
	"parley/cmd/parley/e2e/helpers/agentstest"
	"parley/internal/domain"
	"parley/llm"
)

// exampler counts the questions that it looks for, and has none about some datasets.
type exampler struct {
	llm.Jobs
	looked *int
	fails  error
}

// onlyReader has the reader and no other model.
type onlyReader struct{ exampler }

func (m onlyReader) Jobs(provider, _ string) (llm.Jobs, error) {
	if provider != "reader" {
		return nil, fmt.Errorf("model %q was chosen", provider)
	}
	return m.exampler, nil
}

func (e exampler) ExampleQuestion(_ context.Context, task llm.Task, about llm.Dataset) (string, error) {
	*e.looked++
	if about.Name == "dull" {
		return "", nil
	}
	return fmt.Sprintf("How many of %d %s?", len(task.Datasets), about.Name), e.fails
}

// spaces is the datasets of namespaces.
type spaces map[string][]string

func (s spaces) Datasets(context.Context, domain.Caller) (all []domain.Dataset, err error) {
	for _, name := range []string{"alice/one", "bob/two", "bob/gone"} {
		ref, _ := domain.ParseNamespace(domain.Caller{}, name)
		for _, dataset := range s[name] {
			all = append(all, domain.Dataset{Owner: ref.Owner, Namespace: ref.Name, Name: dataset})
		}
	}
	return all, nil
}

// spacesLake is the same datasets with what is in them.
type spacesLake struct {
	agents.Lake
	spaces
	version int64
	listed  int
}

func (*spacesLake) LinksBetween(context.Context, domain.Caller, domain.NamespaceRef, []domain.DatasetData) ([]domain.MeasuredLink, error) {
	return nil, nil
}

func (l *spacesLake) Datasets(_ context.Context, _ domain.Caller, in domain.DataScope) (all []domain.DatasetData, err error) {
	l.listed++
	if in.Namespace.Name == "gone" || in.ConversationID != "" {
		return nil, domain.ErrNotFound
	}
	for _, name := range l.spaces[in.Namespace.String()] {
		all = append(all, domain.DatasetData{ID: name, Version: l.version, Dataset: domain.Dataset{Name: name}})
	}
	return all, nil
}

func TestExamples(t *testing.T) {
	t.Parallel()
	list := spaces{"alice/one": {"orders", "dull", "items"}, "bob/two": {"beds", "crops", "herbs", "trees"}, "bob/gone": {"ghosts"}}
	lake, looked := &spacesLake{spaces: list, version: 1}, 0
	config := (&agentstest.Script{}).Config()
	config.Lake, config.Models, config.Log = lake, onlyReader{exampler{looked: &looked}}, slog.New(slog.DiscardHandler)
	examples := agents.NewExamples(config, list.Datasets)
	one, two := domain.NamespaceRef{Owner: "alice", Name: "one"}, domain.NamespaceRef{Owner: "bob", Name: "two"}
	want := []agents.Example{
		{Question: "How many of 3 orders?", Namespace: one, Dataset: "orders"},
		{Question: "How many of 3 items?", Namespace: one, Dataset: "items"},
		{Question: "How many of 4 beds?", Namespace: two, Dataset: "beds"},
		{Question: "How many of 4 crops?", Namespace: two, Dataset: "crops"},
		{Question: "How many of 4 herbs?", Namespace: two, Dataset: "herbs"},
	}
	check := func(wantLooked int) {
		t.Helper()
		got, err := examples.Of(t.Context(), domain.Caller{Username: "alice"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(- want, + got):\n%s", diff)
		}
		if looked != wantLooked {
			t.Errorf("looked for %d examples, want %d", looked, wantLooked)
		}
	}
	described, err := examples.Datasets(t.Context(), domain.Caller{Username: "alice"}, one)
	if err != nil || len(described) != 3 || len(described[0].Examples) != 1 || len(described[1].Examples) != 0 || lake.listed != 1 {
		t.Errorf("%+v, %v, listed %d times", described, err, lake.listed)
	}
	check(6)
	check(6) // they are remembered,
	lake.version++
	check(12) // until the data changes

	// A namespace that cannot be read has no examples; the others stay.
	list["bob/two"] = nil
	want = want[:2]
	check(12)

	config.Models = onlyReader{exampler{looked: &looked, fails: errors.New("the data is away")}}
	examples, want = agents.NewExamples(config, list.Datasets), nil
	check(13)
}
