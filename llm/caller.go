package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"parley/internal/fair"
	"parley/internal/retry"
)

const (
	tries          = 3
	initialBackoff = 500 * time.Millisecond
	// maxBackoff limits a pause, also one that the provider asks for, since a user waits.
	maxBackoff = 20 * time.Second
)

// caller calls a model with a limit of concurrent calls, a timeout, retries and circuit
// breakers.
type caller struct {
	model    *Model
	timeout  time.Duration
	slots    *fair.Queue
	breakers breakers
	retry    retry.Policy
}

// reply is the answer of a model.
type reply struct {
	text string
	// truncated says that the model was stopped before the end.
	truncated bool
	usage     Usage
}

// call retries until there is an answer, a permanent error, or no try left. Its error wraps
// that of ctx when ctx has ended.
func (c *caller) call(ctx context.Context, want callOptions, messages []llms.MessageContent) (reply, error) {
	var answer reply
	err := retry.Do(ctx, c.retry, func() (err error) {
		answer, err = c.attempt(ctx, want, messages)
		return err
	})
	return answer, err
}

func (c *caller) attempt(ctx context.Context, want callOptions, messages []llms.MessageContent) (reply, error) {
	release, err := c.slots.Take(ctx)
	if err != nil {
		return reply{}, fmt.Errorf("wait for model %s: %w", c.model, ctx.Err())
	}
	defer release()
	record, err := c.breakers.of(fair.User(ctx)).allow()
	if err != nil {
		return reply{}, fmt.Errorf("ask model %s: %w", c.model, err)
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	x := &exchange{want: want}
	answer, err := c.model.generate(bounded, x, messages)
	switch {
	case err != nil && ctx.Err() != nil:
		record(callCanceled)
	case err != nil && isTemporary(err):
		record(callFailed)
	default:
		record(callSucceeded)
	}
	if err != nil {
		return reply{}, err
	}
	return replyOf(c.model.spec, answer, x.stop), nil
}

// isRetryable reports whether to call again. After a timeout it does not: the user has
// waited long enough.
func isRetryable(err error) bool {
	return isTemporary(err) && !errors.Is(err, errBreakerOpen) &&
		!errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// isTemporary reports whether the model was unavailable, rather than that it refused the
// request.
func isTemporary(err error) bool {
	var status *StatusError
	switch {
	case errors.As(err, &status):
		return status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout || status.Code >= 500
	case errors.Is(err, ErrNoAnswer):
		return false
	}
	return true
}

// retryAfter returns the pause that the provider asks for.
func retryAfter(err error) time.Duration {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.RetryAfter
	}
	return 0
}

// replyOf reads an answer. The arguments of a tool call are text too.
func replyOf(spec Spec, answer *llms.ContentResponse, stop string) reply {
	var texts []string
	for _, choice := range answer.Choices {
		for _, call := range choice.ToolCalls {
			if call.FunctionCall != nil {
				texts = append(texts, call.FunctionCall.Arguments)
			}
		}
		if choice.Content != "" {
			texts = append(texts, choice.Content)
		}
		stop = cmp.Or(stop, choice.StopReason)
	}
	info := answer.Choices[0].GenerationInfo // each choice has the counts of the whole answer
	return reply{
		text:      stripReasoning(strings.Join(texts, "\n")),
		truncated: slices.Contains([]string{"length", "max_tokens", "content_filter", "refusal"}, stop),
		usage: Usage{
			Model:        spec.String(),
			InputTokens:  tokenCount(info, "PromptTokens", "InputTokens"),
			OutputTokens: tokenCount(info, "CompletionTokens", "OutputTokens"),
		},
	}
}

// stripReasoning removes the reasoning that some models write before their answer.
func stripReasoning(text string) string {
	if rest := strings.TrimSpace(text); strings.HasPrefix(rest, "<think>") {
		if _, after, found := strings.Cut(rest, "</think>"); found {
			return after
		}
	}
	return text
}

func tokenCount(info map[string]any, name, alternative string) int {
	n, _ := info[name].(int)
	other, _ := info[alternative].(int)
	return cmp.Or(n, other)
}
