package storage

import "context"

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 32 << 10

// Question is what somebody asks an agent about the data in a namespace.
type Question struct {
	Agent     string
	Namespace NamespaceRef
	// ConversationID is the conversation that the question belongs to; "" begins
	// one.
	ConversationID string
	Text           string
	// HelperPrompt is what the asker adds for the model's guidance.
	HelperPrompt string
	// Provider and Model choose among the models that are set; "" for the
	// default.
	Provider string
	Model    string
}

// Asking is a question that a run is answering, and for whom.
type Asking struct {
	RunID  string
	Caller Caller
	Question
}

type askingKey struct{}

// WithAsking gives a context in which an agent answers a question.
func WithAsking(ctx context.Context, asking Asking) context.Context {
	return context.WithValue(ctx, askingKey{}, asking)
}

// AskingFrom gives the question that is being answered in a context.
func AskingFrom(ctx context.Context) (Asking, bool) {
	asking, ok := ctx.Value(askingKey{}).(Asking)
	return asking, ok
}
