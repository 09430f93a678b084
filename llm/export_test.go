package llm

import (
	"context"
	"time"
)

// SetPause replaces the waiting between tries.
func (c *Chat) SetPause(pause func(context.Context, time.Duration) error) { c.caller.pause = pause }

// PromptSize gives the length of what is said about a task's datasets.
func PromptSize(ctx context.Context, task Task) int { return len(viewOf(ctx, task).Schema) }
