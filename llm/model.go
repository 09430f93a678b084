package llm

import (
	"context"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// Model is an opened chat model. It may be asked by many goroutines at once.
type Model struct {
	chat llms.Model
	spec Spec
	key  string
	// maxTokens is the provider's.
	maxTokens int
}

var _ llms.Model = (*Model)(nil)

// Spec returns the name that the model was opened by.
func (m *Model) Spec() Spec { return m.spec }

// String returns the model's name; printed with %v, a model shows that and not
// its key.
func (m *Model) String() string { return m.spec.String() }

// GenerateContent asks the model and returns its answer, which has text or a
// tool call in at least one choice.
//
// When ctx ends first, the error wraps ctx.Err(). When the provider refuses, it
// wraps a [StatusError]; when it accepts and sends nothing of use,
// [ErrNoAnswer]. Options that ask for a stream are refused: the libraries take
// one that breaks off for a whole answer. [Chat] has answers streamed below them.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	return m.generate(ctx, &exchange{}, messages, options)
}

// generate is GenerateContent with what langchaingo has no words for in below,
// where it notes what happened.
func (m *Model) generate(ctx context.Context, below *exchange, messages []llms.MessageContent, options []llms.CallOption) (*llms.ContentResponse, error) {
	if streams(options) {
		return nil, fmt.Errorf("ask model %s: answers come whole, not as a stream", m.spec)
	}
	answer, err := m.consult(withExchange(ctx, below), messages, options)
	switch {
	case ctx.Err() != nil:
		// The libraries hide a deadline, or end at it without an error.
		err = ctx.Err()
	case below.err != nil:
		err = below.err
	case err != nil && below.accepted:
		err = fmt.Errorf("%w: %w", ErrNoAnswer, redact(err, m.key))
	case err == nil && !answered(answer):
		err = ErrNoAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("ask model %s: %w", m.spec, err)
	}
	return answer, nil
}

// consult turns a panic into an error: the libraries have some for answers that
// are JSON and yet not what they expect, and a provider must not be able to
// end the process.
func (m *Model) consult(ctx context.Context, messages []llms.MessageContent, options []llms.CallOption) (answer *llms.ContentResponse, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			answer, err = nil, fmt.Errorf("panic in the provider's client: %v", cause)
		}
	}()
	return m.chat.GenerateContent(ctx, messages, options...)
}

// Call asks the model one thing in plain text and returns the first text that
// it answers with. It fails as [Model.GenerateContent] does.
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	question := llms.TextParts(llms.ChatMessageTypeHuman, prompt)
	answer, err := m.GenerateContent(ctx, []llms.MessageContent{question}, options...)
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

// streams reports whether options ask for a stream. The libraries take one that
// breaks off for a whole answer, and read it where no panic can be caught.
func streams(options []llms.CallOption) bool {
	var asked llms.CallOptions
	for _, option := range options {
		option(&asked)
	}
	return asked.StreamingFunc != nil || asked.StreamingReasoningFunc != nil
}

func answered(answer *llms.ContentResponse) bool {
	if answer == nil {
		return false
	}
	for _, choice := range answer.Choices {
		if strings.TrimSpace(choice.Content) != "" || len(choice.ToolCalls) > 0 {
			return true
		}
	}
	return false
}
