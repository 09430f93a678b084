package agents

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/llm"
)

const (
	// maxExamples limits the example questions of a card, and maxExampleDatasets the
	// datasets that are tried for them.
	maxExamples        = 5
	maxExampleDatasets = 20
	// maxDescribed limits the datasets on the card of a namespace.
	maxDescribed = 100
	// exampleTimeout limits the search for examples, and exampleWait how long a card waits for it: a card
	// without examples is better than none. What is found later is on the next one.
	exampleTimeout = 20 * time.Second
	exampleWait    = time.Second
	// maxExampleCache limits the remembered examples.
	maxExampleCache = 4096
)

// Example is a question that an agent answers.
type Example struct {
	Question  string
	Namespace domain.NamespaceRef
	// Dataset is what it is about.
	Dataset string
}

// Examples finds example questions. Each is read by the built-in reader first, whichever
// model answers: one that it refuses is no example. It is safe for concurrent use.
type Examples struct {
	config Config
	// list lists the datasets that a caller may read.
	list func(ctx context.Context, caller domain.Caller) ([]domain.Dataset, error)
	// known has questions, "" for none, by the versions of the datasets that they are read
	// among, and the dataset that they are about.
	known *lru.Cache[exampleKey, string]

	mu sync.Mutex
	// searches has those that are in progress, one at most for each caller.
	searches map[domain.Caller]*exampleSearch
}

// exampleSearch is a search for the examples of one caller.
type exampleSearch struct {
	done  chan struct{}
	mu    sync.Mutex
	found []Example
}

func (s *exampleSearch) add(more []Example) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, more...)
}

// wait returns what is found within a moment.
func (s *exampleSearch) wait(ctx context.Context) []Example {
	select {
	case <-s.done:
	case <-time.After(exampleWait):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}

// search starts a search of a caller, or returns the one in progress.
func (e *Examples) search(ctx context.Context, caller domain.Caller, all []domain.Dataset) *exampleSearch {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.searches[caller]; ok {
		return s
	}
	s := &exampleSearch{done: make(chan struct{})}
	e.searches[caller] = s
	go func() {
		defer func() {
			if cause := recover(); cause != nil {
				e.config.Log.ErrorContext(ctx, "panic in the search for examples", "cause", cause)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.searches, caller)
			close(s.done)
		}()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exampleTimeout)
		defer cancel()
		e.find(ctx, caller, all, s)
	}()
	return s
}

type exampleKey struct {
	among [sha256.Size]byte
	about string
}

// NewExamples makes Examples of what agents work with. Models must have the reader. list lists
// the datasets that a caller may read.
func NewExamples(config Config, list func(ctx context.Context, caller domain.Caller) ([]domain.Dataset, error)) *Examples {
	if config.Now == nil {
		config.Now = time.Now
	}
	config.RetryTimeout = 0
	return &Examples{config: config, list: list, known: lru.New[exampleKey, string](maxExampleCache), searches: map[domain.Caller]*exampleSearch{}}
}

// Of returns examples for a caller, at most five, each about another dataset; those about the
// caller's own first.
func (e *Examples) Of(ctx context.Context, caller domain.Caller) ([]Example, error) {
	all, err := e.list(ctx, caller)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b domain.Dataset) int {
		own := func(d domain.Dataset) bool { return d.Owner == caller.Username }
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return -1
		}
		return 1
	})
	return e.search(ctx, caller, all).wait(ctx), nil
}

// find finds examples about some datasets.
func (e *Examples) find(ctx context.Context, caller domain.Caller, all []domain.Dataset, s *exampleSearch) {
	left := maxExamples
	tried := map[domain.NamespaceRef]bool{}
	for _, dataset := range all[:min(len(all), maxExampleDatasets)] {
		ref := domain.NamespaceRef{Owner: dataset.Owner, Name: dataset.Namespace}
		if tried[ref] {
			continue
		}
		tried[ref] = true
		datasets, err := e.datasets(ctx, caller, ref)
		var more []Example
		if err == nil {
			more, err = e.in(ctx, caller, ref, datasets, left)
		}
		if err != nil {
			// What cannot be read now has no examples now.
			e.config.Log.WarnContext(ctx, "no examples of a namespace", "error", err)
		}
		s.add(more)
		if left -= len(more); left == 0 {
			break
		}
	}
}

func (e *Examples) datasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.DatasetData, error) {
	all, err := e.config.Lake.Datasets(ctx, caller, domain.DataScope{Namespace: ref})
	if err != nil {
		return nil, fmt.Errorf("read the datasets: %w", err)
	}
	return all, nil
}

// in returns examples for a caller about a namespace with these datasets, one for each, at
// most limit.
func (e *Examples) in(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, all []domain.DatasetData, limit int) ([]Example, error) {
	jobs, err := e.config.Models.Jobs("reader", "")
	if err != nil {
		return nil, err
	}
	reader, ok := jobs.(llm.Exampler)
	if !ok {
		return nil, fmt.Errorf("%T gives no examples", jobs)
	}
	run := &Run{config: e.config, question: domain.Question{Caller: caller, Namespace: ref}}
	// Links are left out: to measure them takes long, and examples join nothing.
	task := llm.Task{Datasets: describe(all), Data: &data{Run: run}, Now: e.config.Now()}
	among := sha256.New()
	for _, d := range task.Datasets {
		_, _ = fmt.Fprintf(among, "%q", d.Version)
	}
	var found []Example
	for _, d := range task.Datasets[:min(len(task.Datasets), maxExampleDatasets)] {
		question, err := e.about(ctx, reader, task, d, exampleKey{[sha256.Size]byte(among.Sum(nil)), d.Version})
		if err != nil {
			return found, err
		}
		if question != "" {
			found = append(found, Example{question, ref, d.Name})
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}

// DescribedDataset is a dataset with examples.
type DescribedDataset struct {
	Name, Description string
	Examples          []string
}

// Datasets describes the datasets of a namespace that a caller may read, at most
// maxDescribed. ErrNotFound when there is no such namespace.
func (e *Examples) Datasets(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]DescribedDataset, error) {
	all, err := e.datasets(ctx, caller, ref)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, exampleTimeout)
	defer cancel()
	examples, err := e.in(ctx, caller, ref, all, maxExampleDatasets)
	if err != nil {
		e.config.Log.WarnContext(ctx, "no examples of a namespace", "error", err)
	}
	described := make([]DescribedDataset, 0, min(len(all), maxDescribed))
	for _, dataset := range all[:cap(described)] {
		d := DescribedDataset{Name: dataset.Name}
		if dataset.Definition.Description != nil {
			d.Description = *dataset.Definition.Description
		}
		for _, example := range examples {
			if example.Dataset == dataset.Name {
				d.Examples = append(d.Examples, example.Question)
			}
		}
		described = append(described, d)
	}
	return described, nil
}

// about returns the question about a dataset, found or remembered.
func (e *Examples) about(ctx context.Context, reader llm.Exampler, task llm.Task, about llm.Dataset, key exampleKey) (string, error) {
	if question, ok := e.known.Get(key); ok {
		return question, nil
	}
	question, err := reader.ExampleQuestion(ctx, task, about)
	if err != nil {
		return "", fmt.Errorf("find an example: %w", errors.Join(err, ctx.Err()))
	}
	e.known.Put(key, question, 1)
	return question, nil
}
