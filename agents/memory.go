package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/llm"
	"parley/storage"
)

// The bounds of what an agent remembers of a conversation.
const (
	maxTurns  = 5
	maxMemory = 8 << 10
	// maxRead is how many turns are read to find maxTurns that were answered.
	maxRead = 4 * maxTurns
	// maxRemembered is for one text.
	maxRemembered = 2 << 10
)

// Recall gives the jobs that follow what was asked before in the conversation.
func (w *Work) Recall(ctx context.Context) error {
	turns, err := patiently(ctx, w, func() ([]storage.Turn, error) {
		return w.config.Memory.RecentTurns(ctx, w.asking.Caller, w.asking.ConversationID, maxRead)
	})
	if err != nil {
		return fmt.Errorf("read the earlier turns: %w", err)
	}
	w.task.Earlier = remember(turns)
	return nil
}

// remember gives the turns that were answered, within the bounds. The latest come
// first where not all fit, and of a turn its question and queries, which say more
// than its answer about what comes next. What was not answered is as if it had not
// been asked: nobody goes on from it.
func remember(turns []storage.Turn) []llm.Turn {
	left := maxMemory
	take := func(text string) string {
		text = clean(text, max(min(left, maxRemembered), len("…")))
		left -= len(text)
		return text
	}
	var kept []llm.Turn
	for _, turn := range slices.Backward(turns) {
		var result result
		if json.Unmarshal(turn.Result, &result) != nil || !slices.ContainsFunc(result.Steps, resultStep.answered) {
			continue
		}
		t := llm.Turn{Question: take(turn.Question)}
		for _, step := range result.Steps {
			if !strings.HasPrefix(step.Query, noQuery) && len(step.Query) <= min(left, maxRemembered) {
				t.Queries = append(t.Queries, take(step.Query))
			}
		}
		t.Answer = take(result.Response)
		if left < 0 {
			break
		}
		if kept = append(kept, t); len(kept) == maxTurns {
			break
		}
	}
	slices.Reverse(kept)
	return kept
}

// answered reports whether a step found something out; no rows of a query are an
// answer.
func (s resultStep) answered() bool {
	return !strings.HasPrefix(s.Query, noQuery) && s.Reasoning != noPassages
}
