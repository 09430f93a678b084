package client

import (
	"context"
	"errors"
	"fmt"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Cancel is `parley cancel TASK…`.
type Cancel struct {
	ID []string `arg:"" name:"task" help:"The tasks to cancel."`
	connectionSettings
}

// Run cancels the tasks, also when one of them fails.
func (c *Cancel) Run(ctx context.Context, env command.Env) error {
	check := env.NewChecker()
	for _, id := range c.ID {
		check.NotEmpty("TASK", id)
	}
	client, err := c.connect(check)
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
		fmt.Fprintf(env.Stdout, "canceled %s\n", console.Line(id))
	}
	return failed
}
