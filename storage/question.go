package storage

import (
	"context"
	"fmt"
	"strings"
)

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 32 << 10

// Limits of what is beside a question, in characters.
const (
	maxHelperPrompt = 10_000
	maxModelName    = 200
)

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

// CheckQuestion returns what is wrong with the text of a question, "" when it is right.
func CheckQuestion(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "must not be blank"
	case len(text) > MaxQuestion:
		return fmt.Sprintf("must be at most %d bytes", MaxQuestion)
	}
	return CheckText(text, MaxQuestion)
}

// CheckHelperPrompt returns what is wrong with a helper prompt, "" when it is right.
func CheckHelperPrompt(text string) string { return CheckText(text, maxHelperPrompt) }

// CheckModelName returns what is wrong with the name of a model or provider, "" when it
// is right. Which exist is known to the models.
func CheckModelName(name string) string { return CheckText(name, maxModelName) }

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
