// Package eval measures how well questions over tables are answered: it loads a suite of
// questions and answers, compares results with them, and counts. An [Asker] answers the
// questions; the caller loads the tables of a suite.
package eval

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
)

// ErrStop is wrapped by an error of an [Asker] that ends the run.
var ErrStop = errors.New("the questions cannot be asked")

// portionsEach is about how many portions each of the parallel askers gets.
const portionsEach = 16

// portion has some questions of one namespace, which are asked one after the other so that
// the later ones find warm caches.
type portion struct {
	// place is that of the first question in the suite.
	place     int
	space     Namespace
	questions []Question
}

// portions divides a suite so that all parallel askers have work until the end.
func portions(suite *Suite, parallel int) []portion {
	questions, _ := suite.Count()
	most := max(questions/(portionsEach*parallel), 1)
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

// placed is the outcome of the question at a place in the suite.
type placed struct {
	place   int
	outcome Outcome
}

// Run asks all questions of a suite, some in parallel, and calls each with the outcomes,
// one at a time and in the order of the suite. It ends early when ctx ends, or with an
// asker's error that wraps [ErrStop]; each then gets the outcomes so far.
func Run(ctx context.Context, ask Asker, suite *Suite, parallel int, each func(Outcome)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make(chan placed)
	go func() {
		defer close(outcomes)
		var group errgroup.Group
		group.SetLimit(parallel)
		for _, p := range portions(suite, parallel) {
			group.Go(func() error {
				for i, question := range p.questions {
					if ctx.Err() != nil {
						break
					}
					outcome := Ask(ctx, ask, p.space, question)
					if errors.Is(outcome.err, ErrStop) {
						cancel(outcome.err)
					}
					if ctx.Err() == nil {
						outcomes <- placed{p.place + i, outcome}
					}
				}
				return nil
			})
		}
		_ = group.Wait()
	}()
	inOrder(outcomes, each)
	return context.Cause(ctx)
}

// inOrder passes each outcome on once those before it have arrived, and at the end those
// after a gap.
func inOrder(outcomes <-chan placed, each func(Outcome)) {
	waiting, next, last := map[int]Outcome{}, 0, 0
	for o := range outcomes {
		waiting[o.place], last = o.outcome, max(last, o.place)
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
