package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

// Limits of the earlier turns that jobs are given.
const (
	maxTurns  = 5
	maxMemory = 8 << 10
	// maxRead is how many turns are read to find maxTurns answered ones.
	maxRead = 4 * maxTurns
	// maxRemembered limits one text.
	maxRemembered = 2 << 10
	// maxResult is how large a result may be to be read for its queries and answer.
	maxResult = 2 << 20
)

// Recall adds the earlier turns of the conversation, and the tasks that the message refers
// to, to the jobs' input.
func (w *Run) Recall(ctx context.Context) error {
	turns, err := retryWhileUnavailable(ctx, w, func() ([]llm.Turn, error) { return w.remember(ctx) })
	if err != nil {
		return fmt.Errorf("read the earlier turns: %w", err)
	}
	w.task.Earlier = turns
	return nil
}

// remember returns the answered turns, within the limits. When not all fit, later turns have
// priority, and of a turn its question and queries, which matter more to a follow-up than
// its answer. Unanswered turns are left out.
func (w *Run) remember(ctx context.Context) ([]llm.Turn, error) {
	turns, err := w.config.Memory.RecentTurns(ctx, w.question.Caller, w.question.ConversationID, maxRead)
	if err != nil {
		return nil, err
	}
	referenced, err := w.referenced(ctx)
	if err != nil {
		return nil, err
	}
	turns = append(referenced, slices.DeleteFunc(turns, func(turn domain.Run) bool {
		return slices.Contains(w.message.ReferenceTasks, a2a.TaskID(turn.ID))
	})...)
	var answered []llm.Turn
	for left := maxMemory; len(turns) > 0 && len(answered) < maxTurns; turns = turns[1:] {
		found, ok, err := w.answerOf(ctx, turns[0])
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if n := len(answered); n == 0 {
			w.offered, w.offeredBy = found.alternatives(), turns[0].ID
		} else if _, chosen := named(found.alternatives(), answered[n-1].Question); chosen {
			answered[n-1].Question = clean(turns[0].Question, maxRemembered) // with the chosen query
			continue
		}
		turn := shorten(turns[0].Question, found, &left)
		if left < 0 {
			break
		}
		answered = append(answered, turn)
	}
	slices.Reverse(answered)
	return answered, nil
}

// referenced returns the turns of the tasks that the message refers to, the last first: they
// count like the latest of the conversation.
func (w *Run) referenced(ctx context.Context) ([]domain.Run, error) {
	var turns []domain.Run
	for _, id := range slices.Backward(w.message.ReferenceTasks) {
		if len(turns) == maxTurns {
			break
		}
		run, err := w.config.Memory.Run(ctx, w.question.Caller, string(id))
		if errors.Is(err, domain.ErrNotFound) { // deleted just now
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(run.Result) > maxResult {
			run.Result, run.ResultBytes = nil, len(run.Result)
		}
		turns = append(turns, run)
	}
	return turns, nil
}

// answerOf returns the result of a turn, and whether it is an answer. A result larger than
// maxResult counts as one and is not read.
func (w *Run) answerOf(ctx context.Context, turn domain.Run) (found result, ok bool, err error) {
	text := turn.Result
	switch {
	case turn.ResultBytes > maxResult:
		return found, true, nil
	case turn.ResultBytes > domain.InlineResult:
		run, err := w.config.Memory.Run(ctx, w.question.Caller, turn.ID)
		if errors.Is(err, domain.ErrNotFound) { // deleted just now
			return found, false, nil
		}
		if err != nil {
			return found, false, err
		}
		text = run.Result
	}
	ok = json.Unmarshal(text, &found) == nil && slices.ContainsFunc(found.Steps, resultStep.answered)
	return found, ok, nil
}

// alternatives returns the readings that a result offers to choose from.
func (r result) alternatives() []domain.InputOption {
	var all []domain.InputOption
	for _, step := range r.Steps {
		all = append(all, step.Alternatives...)
	}
	return all
}

// shorten limits a text to what is left of the total.
func shorten(question string, found result, left *int) llm.Turn {
	take := func(text string) string {
		text = clean(text, max(min(*left, maxRemembered), len("…")))
		*left -= len(text)
		return text
	}
	turn := llm.Turn{Question: take(question)}
	for _, step := range found.Steps {
		if step.answered() && len(step.Query) <= min(*left, maxRemembered) {
			turn.Queries = append(turn.Queries, take(step.Query))
		}
	}
	turn.Answer = take(found.Response)
	return turn
}

// answered reports whether a step has a result; an empty result of a query is one.
func (s resultStep) answered() bool {
	return writtenQuery(s.Query) != "" && s.Reasoning != noPassages
}
