// Package assistant is the agent that answers a question in prose: it plans steps, queries
// the data for each, and writes the answer.
package assistant

import (
	"context"
	"maps"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/agents"
	"parley/llm"
)

// New makes the agent.
func New(config agents.Config) *agents.Executor {
	return agents.NewExecutor(config, agents.AnswerText, find)
}

// find emits the plan, the steps and the answer.
func find(ctx context.Context, w *agents.Run) error {
	if err := w.Open(ctx); err != nil {
		return err
	}
	if err := w.Recall(ctx); err != nil {
		return err
	}
	steps, err := plan(ctx, w)
	if err != nil {
		return err
	}
	var done []llm.Step
	for i, instruction := range steps {
		step, err := lookUp(ctx, w, i, instruction, done)
		if err != nil {
			return agents.StepFailed(i, instruction, err)
		}
		done = append(done, step)
	}
	text, err := w.Answer(ctx, done)
	if err != nil {
		return err
	}
	answer := a2a.NewTextPart(text)
	answer.MediaType = "text/markdown"
	return w.EmitArtifact(ctx, agents.AnswerText, nil, answer)
}

// plan returns the steps of the plan that was emitted, or emits one.
func plan(ctx context.Context, w *agents.Run) ([]string, error) {
	if messages := w.StatusMessages(); len(messages) > 0 {
		if plan, ok := agents.ReadPlan(messages[0]); ok {
			return plan.Steps, nil
		}
	}
	plan, err := w.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return plan.Steps, w.EmitStatus(ctx, a2a.TaskStateWorking, agents.NewPlan(plan)...)
}

// lookUp returns a step that was emitted, or emits it.
func lookUp(ctx context.Context, w *agents.Run, index int, instruction string, before []llm.Step) (llm.Step, error) {
	id := agents.StepName(index)
	if artifact := w.Artifact(id); artifact != nil {
		return agents.ReadStep(artifact), nil
	}
	// The first status message is the plan, then there is one for each step.
	if len(w.StatusMessages()) < index+2 {
		if err := w.EmitStatus(ctx, a2a.TaskStateWorking, a2a.NewTextPart(instruction)); err != nil {
			return llm.Step{}, err
		}
	}
	found, err := w.RunStep(ctx, index, instruction, before)
	if err != nil {
		return llm.Step{}, err
	}
	metadata := found.Metadata()
	maps.Copy(metadata, found.RowsMetadata())
	metadata["index"], metadata["instruction"] = index, instruction
	return found.Step, w.EmitArtifact(ctx, id, metadata, agents.NewStep(found.Step)...)
}
