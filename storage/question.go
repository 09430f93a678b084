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

// RunRequest is a question that a run is answering, and for whom.
type RunRequest struct {
	RunID  string
	Caller Caller
	Question
}

type runRequestKey struct{}

// WithRunRequest gives a context in which an agent answers a question.
func WithRunRequest(ctx context.Context, asking RunRequest) context.Context {
	return context.WithValue(ctx, runRequestKey{}, asking)
}

// RunRequestFrom gives the question that is being answered in a context.
func RunRequestFrom(ctx context.Context) (RunRequest, bool) {
	asking, ok := ctx.Value(runRequestKey{}).(RunRequest)
	return asking, ok
}
