package llm

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"
)

// SetPause replaces the waiting between tries.
func (c *Chat) SetPause(pause func(context.Context, time.Duration) error) {
	c.caller.retry.Sleep = pause
}

// SetTries sets how often a call is tried.
func (c *Chat) SetTries(tries int) { c.caller.retry.Tries = tries }

// SchemaText returns what is said about a task's datasets.
func SchemaText(ctx context.Context, task Task, facts func(context.Context, Data, []Dataset) Facts) string {
	return (&Chat{readFacts: facts}).viewOf(ctx, task).Schema
}

// GenerateContent calls the model, without a stream or a shape.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent) (*llms.ContentResponse, error) {
	return m.generate(ctx, &exchange{}, messages)
}

// Call sends a text and gives the first text of the answer.
func (m *Model) Call(ctx context.Context, prompt string) (string, error) {
	answer, err := m.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, prompt)})
	if err != nil {
		return "", err
	}
	for _, choice := range answer.Choices {
		if strings.TrimSpace(choice.Content) != "" {
			return choice.Content, nil
		}
	}
	return "", fmt.Errorf("ask model %s: %w", m.spec, ErrNoAnswer)
}

// ProviderNames lists the providers.
func ProviderNames() string { return providerNames() }
