package llm

import (
	"context"
	"time"
)

// SetPause replaces the waiting between tries.
func (c *Chat) SetPause(pause func(context.Context, time.Duration) error) {
	c.caller.retry.Sleep = pause
}

// SchemaText gives what is said about a task's datasets.
func SchemaText(ctx context.Context, task Task, catalog Catalog) string {
	return (&Chat{catalog: catalog}).viewOf(ctx, task).Schema
}
