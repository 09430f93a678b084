package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/llm"
)

// errJobTimeout is the cause of a job that timed out.
var errJobTimeout = errors.New("the job's time is up")

// do runs a job with a timeout and a span.
func do[T any](ctx context.Context, w *Run, name string, job func(context.Context) (T, error), usage func(T) llm.Usage) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.config.JobTimeout, errJobTimeout)
	defer cancel()
	traced, done := w.config.Tracer.Model(ctx, name)
	result, err := job(traced)
	w.usage.Add(usage(result))
	if _, unanswerable := errors.AsType[*llm.UnanswerableError](err); err == nil || unanswerable {
		done(usage(result), nil)
		return result, err
	}
	done(usage(result), err)
	if errors.Is(context.Cause(ctx), errJobTimeout) {
		err = fmt.Errorf("%w: %w", errJobTimeout, err)
	}
	return result, &modelError{fmt.Errorf("%s: %w", name, err)}
}

// Plan returns the steps of the answer. There is at least one: the question itself if the
// model returns none.
func (w *Run) Plan(ctx context.Context) (llm.Plan, error) {
	var plan llm.Plan
	if option, ok := named(w.offered, w.question.Text); ok {
		return w.clip(llm.Plan{Reasoning: readAsChosen(option)}), nil
	}
	if found, err := w.verified(ctx); err != nil {
		return plan, err
	} else if found != nil {
		return w.clip(llm.Plan{Reasoning: verifiedReasoning}), nil
	}
	// Without data there is nothing to plan; the one step will report it.
	if len(w.task.Datasets) > 0 {
		var err error
		plan, err = do(ctx, w, "plan", func(ctx context.Context) (llm.Plan, error) { return w.jobs.Plan(ctx, w.task) },
			func(p llm.Plan) llm.Usage { return p.Usage })
		if unanswerable, ok := errors.AsType[*llm.UnanswerableError](err); ok {
			plan = llm.Plan{Reasoning: unanswerable.Reason}
		} else if err != nil {
			return plan, err
		}
	}
	return w.clip(plan), nil
}

// clip limits the number and length of the steps of a plan.
func (w *Run) clip(plan llm.Plan) llm.Plan {
	clipped := llm.Plan{Reasoning: clean(plan.Reasoning, maxReasoning)}
	for _, step := range plan.Steps {
		if len(clipped.Steps) == llm.MaxSteps {
			break
		}
		if step = clean(step, maxInstruction); step != "" {
			clipped.Steps = append(clipped.Steps, step)
		}
	}
	if len(clipped.Steps) == 0 {
		clipped.Steps = []string{clean(w.question.Text, maxInstruction)}
	}
	if clipped.Reasoning == "" {
		clipped.Reasoning = fmt.Sprintf("Steps to look up: %d.", len(clipped.Steps))
	}
	return clipped
}

// Answer writes the answer from the results of the steps. When no step succeeded it says
// so, and what data there is.
func (w *Run) Answer(ctx context.Context, steps []llm.Step) (string, error) {
	reasons, found := []string{}, false
	for _, step := range steps {
		if step.Failure == "" {
			found = true
		} else if reason := sentence(step.Failure); len(reasons) == 0 || reasons[len(reasons)-1] != reason {
			reasons = append(reasons, reason)
		}
	}
	if !found {
		return w.Unanswered(strings.Join(reasons, " ")), nil
	}
	task := llm.AnswerTask{Task: w.task, Steps: steps}
	answer, err := do(ctx, w, "answer", func(ctx context.Context) (llm.Answer, error) { return w.jobs.Answer(ctx, task) },
		func(a llm.Answer) llm.Usage { return a.Usage })
	if unanswerable, ok := errors.AsType[*llm.UnanswerableError](err); ok {
		return w.Unanswered(unanswerable.Reason), nil
	}
	if err != nil {
		return "", err
	}
	text := clean(answer.Markdown, maxAnswer)
	if text == "" {
		return "", &modelError{llm.ErrNoAnswer}
	}
	if remarks := w.Remarks(); remarks != "" {
		text += "\n\n" + remarks
	}
	return text, nil
}

// Unanswered says why there is no answer, without links of names in the data, and what data there is.
func (w *Run) Unanswered(reason string) string {
	return strings.TrimSpace(llm.Plain(sentence(clean(reason, maxReasoning))) + " " + DatasetsText(w.task.Datasets))
}
