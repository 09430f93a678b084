package main

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/apiclient"
	"parley/internal/console"
)

// cancelCmd is `parley cancel TASK…`.
type cancelCmd struct {
	ID []string `arg:"" name:"task" help:"The tasks to cancel."`
	connectionSettings
}

// Run cancels tasks, each for itself.
func (c *cancelCmd) Run(ctx context.Context, out output) error {
	check := &checker{}
	c.connectionSettings.read(check)
	if err := check.err(); err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	var failed error
	for _, id := range c.ID {
		err := eachAgent(client, func(agent apiclient.Agent) error {
			_, err := agent.Cancel(ctx, id)
			return err
		})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cancel %s: %w", id, err))
			continue
		}
		fmt.Fprintf(out.stdout, "canceled %s\n", console.Line(id))
	}
	return failed
}
