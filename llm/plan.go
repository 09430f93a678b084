package llm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of texts, in bytes.
const (
	maxStep      = 2 << 10
	maxReasoning = 2 << 10
)

var planShape = readShape("plan")

// Plan implements [Jobs].
func (c *Chat) Plan(ctx context.Context, task Task) (Plan, error) {
	view := struct {
		taskView
		MaxSteps int
	}{c.viewOf(ctx, task), MaxSteps}
	known := knownLinks(task)
	var plan Plan
	err := c.run(ctx, "plan", planShape, view, &plan.Usage, func(text string) error {
		got, err := decode(text, checkPlan)
		if err != nil {
			return err
		}
		if len(got.Steps) == 0 {
			return unanswerable(got.Unanswerable, known)
		}
		for i, step := range got.Steps {
			got.Steps[i] = known.sanitize(step) // users see it
		}
		plan.Steps, plan.Reasoning = got.Steps, known.sanitize(got.Reasoning)
		return nil
	})
	return plan, err
}

type planOutput struct {
	Reasoning, Unanswerable string
	Steps                   []string
}

func checkPlan(p *planOutput) error {
	if err := checkTexts(p.Steps...); err != nil {
		return err
	}
	p.Steps = slices.DeleteFunc(p.Steps, blank)
	switch {
	case len(p.Steps) == 0 && blank(p.Unanswerable):
		return errors.New("steps is empty, and so is unanswerable")
	case len(p.Steps) > MaxSteps:
		return fmt.Errorf("there are %d steps, and at most %d are allowed", len(p.Steps), MaxSteps)
	}
	for i, step := range p.Steps {
		if p.Steps[i] = strings.TrimSpace(step); len(p.Steps[i]) > maxStep {
			return fmt.Errorf("step %d is longer than %d bytes", i+1, maxStep)
		}
	}
	p.Reasoning = shorten(clean(p.Reasoning), maxReasoning)
	return nil
}
