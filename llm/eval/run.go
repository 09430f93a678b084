package eval

import (
	"context"
	"errors"
	"sync"
)

// ErrStop is wrapped by an [Asker]'s error when there is no use in asking on.
var ErrStop = errors.New("the questions cannot be asked")

// item is a question and where it stands in its suite.
type item struct {
	place    int
	space    Namespace
	question Question
}

// answered is the outcome for the question at a place.
type answered struct {
	place   int
	outcome Outcome
	err     error
}

// Run asks all questions of a suite, some at a time, and gives each outcome to
// each, one after the other and in the order of the suite. It ends early when ctx
// ends, or with an asker's error that wraps [ErrStop]; each then gets what has
// been answered until then.
func Run(ctx context.Context, asker Asker, suite *Suite, parallel int, each func(Outcome)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	items, outcomes := make(chan item), make(chan answered)
	go func() {
		defer close(items)
		place := 0
		for _, space := range suite.Namespaces {
			for _, question := range space.Questions {
				select {
				case items <- item{place, space, question}:
				case <-ctx.Done():
					return
				}
				place++
			}
		}
	}()
	var askers sync.WaitGroup
	for range max(parallel, 1) {
		askers.Go(func() {
			for i := range items {
				outcome, err := ask(ctx, asker, i.space, i.question)
				if ctx.Err() != nil {
					return // it was cut off
				}
				outcomes <- answered{i.place, outcome, err}
			}
		})
	}
	go func() {
		askers.Wait()
		close(outcomes)
	}()
	inOrder(outcomes, cancel, each)
	return context.Cause(ctx)
}

// inOrder gives outcomes on as soon as those before them have come, and in the
// end those that have none before them.
func inOrder(outcomes <-chan answered, stop context.CancelCauseFunc, each func(Outcome)) {
	waiting, next, last := map[int]Outcome{}, 0, 0
	for a := range outcomes {
		if errors.Is(a.err, ErrStop) {
			stop(a.err)
			continue
		}
		waiting[a.place], last = a.outcome, max(last, a.place)
		for outcome, ok := waiting[next]; ok; outcome, ok = waiting[next] {
			delete(waiting, next)
			each(outcome)
			next++
		}
	}
	for ; next <= last; next++ {
		if outcome, ok := waiting[next]; ok {
			each(outcome)
		}
	}
}
