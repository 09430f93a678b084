// Package nl2ql is the agent that answers a question with one query and its rows.
package nl2ql

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/agents"
	"parley/llm"
)

// New makes the agent.
func New(config agents.Config) *agents.Executor {
	return agents.NewExecutor(config, agents.ResultData, find)
}

// find emits the query and its rows: the query after it ran, since a failed one is
// rewritten.
func find(ctx context.Context, w *agents.Run) error {
	if err := w.Open(ctx); err != nil {
		return err
	}
	var found agents.Found
	var err error
	if query := w.Artifact(agents.GeneratedQuery); query != nil {
		if found, err = w.RunStepAgain(ctx, query); err != nil {
			return err
		}
	} else {
		if err = w.Recall(ctx); err != nil {
			return err
		}
		if found, err = w.RunStep(ctx, 0, w.Question(), nil); err != nil {
			return err
		}
		if found.Refusal != nil {
			return found.Refusal
		}
		metadata := found.Metadata()
		// A search is shown as SQL that only the engine can run.
		if search := found.Search; search != nil {
			metadata["search"] = map[string]any{"dataset": search.Dataset, "words": search.Words, "limit": search.Limit}
		}
		if err := w.EmitArtifact(ctx, agents.GeneratedQuery, metadata, a2a.NewTextPart(found.Query)); err != nil {
			return err
		}
	}
	if found.Failure != "" {
		return w.EmitArtifact(ctx, agents.ResultData, map[string]any{"answered": false},
			a2a.NewTextPart(w.Unanswered(found.Failure)), agents.NewRows(found.Rows))
	}
	if change := w.Change(); change != "" {
		return w.EmitArtifact(ctx, agents.ResultData, found.RowsMetadata(), a2a.NewTextPart(change), agents.NewRows(found.Rows))
	}
	summary := agents.CountRows(ctx, found.Rows)
	remarks := w.Remarks()
	if remarks == "" && len(found.Rows.Rows) == 0 {
		remarks = llm.Plain(found.Reasoning) // what there is none of
	}
	if remarks != "" {
		summary += ". " + remarks
	}
	return w.EmitArtifact(ctx, agents.ResultData, found.RowsMetadata(), a2a.NewTextPart(summary), agents.NewRows(found.Rows))
}
