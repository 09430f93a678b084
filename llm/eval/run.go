package eval

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrStop is wrapped by an [Asker]'s error when there is no use in asking on.
var ErrStop = errors.New("the questions cannot be asked")

// turns is how many times each asker takes questions, about.
const turns = 16

// portion is some questions of one namespace, for one asker to put one after the
// other: what was made ready for the first serves the others. place is where the
// first stands in the suite.
type portion struct {
	place     int
	space     Namespace
	questions []Question
}

// portions divides a suite so that all askers have work until the end.
func portions(suite *Suite, parallel int) []portion {
	questions, _ := suite.Count()
	most := max(questions/(turns*parallel), 1)
	var all []portion
	place := 0
	for _, space := range suite.Namespaces {
		for some := range slices.Chunk(space.Questions, most) {
			all = append(all, portion{place, space, some})
			place += len(some)
		}
	}
	return all
}

// answered is the outcome for the question at a place.
type answered struct {
	place   int
	outcome Outcome
}

// Run asks all questions of a suite, some at a time, and gives each outcome to
// each, one after the other and in the order of the suite. It ends early when ctx
// ends, or with an asker's error that wraps [ErrStop]; each then gets what has
// been answered until then.
func Run(ctx context.Context, asker Asker, suite *Suite, parallel int, each func(Outcome)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parallel = max(parallel, 1)
	work, outcomes := make(chan portion), make(chan answered)
	go func() {
		defer close(work)
		for _, p := range portions(suite, parallel) {
			select {
			case work <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	var askers sync.WaitGroup
	for range parallel {
		askers.Go(func() {
			for p := range work {
				for i, question := range p.questions {
					outcome, err := ask(ctx, asker, p.space, question)
					if errors.Is(err, ErrStop) {
						cancel(err)
					}
					if ctx.Err() != nil {
						return // it was cut off
					}
					outcomes <- answered{p.place + i, outcome}
				}
			}
		})
	}
	go func() {
		askers.Wait()
		close(outcomes)
	}()
	inOrder(outcomes, each)
	return context.Cause(ctx)
}

// inOrder gives outcomes on as soon as those before them have come, and in the
// end those that have none before them.
func inOrder(outcomes <-chan answered, each func(Outcome)) {
	waiting, next, last := map[int]Outcome{}, 0, 0
	for a := range outcomes {
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
