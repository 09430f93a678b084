package storage

import (
	"fmt"
	"strings"
)

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 32 << 10

// Limits of a question's settings, in characters.
const (
	maxHelperPrompt = 10_000
	maxModelName    = 200
)

// Question is a question to an agent about the data in a namespace.
type Question struct {
	Agent     string
	Namespace NamespaceRef
	// ConversationID is the conversation that the question belongs to; "" for a new one.
	ConversationID string
	Text           string
	// HelperPrompt is guidance for the model, given with the question.
	HelperPrompt string
	// Provider and Model choose a configured model; "" for the default.
	Provider string
	Model    string
	// Push is where the events are sent from the first one on, for a run that is started;
	// nil for nowhere. Its RunID is not used.
	Push *PushConfig
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
// is right. Whether it exists is not checked.
func CheckModelName(name string) string { return CheckText(name, maxModelName) }

// RunRequest is the question of a run and its caller.
type RunRequest struct {
	RunID  string
	Caller Caller
	Question
}

// The settings of a question in the metadata of a message.
const (
	metadataNamespace    = "namespace"
	metadataUsername     = "username"
	metadataModel        = "model"
	metadataProvider     = "provider"
	metadataHelperPrompt = "helperPrompt"
)

// Metadata gives the settings of a question as the metadata of a message; see ReadQuestion.
func (q Question) Metadata() map[string]any {
	metadata := map[string]any{}
	for key, value := range map[string]string{
		metadataModel: q.Model, metadataProvider: q.Provider, metadataHelperPrompt: q.HelperPrompt,
	} {
		if value != "" {
			metadata[key] = value
		}
	}
	if q.Namespace != (NamespaceRef{}) {
		metadata[metadataNamespace] = q.Namespace.Owner + "/" + q.Namespace.Name
	}
	return metadata
}

// ReadQuestion reads a question from the text of a message and its settings from the
// message's metadata. Errors are ErrInvalid.
func ReadQuestion(caller Caller, text string, metadata map[string]any) (Question, error) {
	q := Question{Text: text}
	if problem := CheckQuestion(text); problem != "" {
		return q, Errorf(ErrInvalid, "the question %s", problem)
	}
	for _, setting := range []struct {
		key   string
		into  *string
		check func(string) string
	}{
		{metadataModel, &q.Model, CheckModelName},
		{metadataProvider, &q.Provider, CheckModelName},
		{metadataHelperPrompt, &q.HelperPrompt, CheckHelperPrompt},
	} {
		value, ok := metadata[setting.key].(string)
		if !ok && metadata[setting.key] != nil {
			return q, Errorf(ErrInvalid, "message metadata.%s must be a string", setting.key)
		}
		if problem := setting.check(value); problem != "" {
			return q, Errorf(ErrInvalid, "message metadata.%s %s", setting.key, problem)
		}
		*setting.into = value
	}
	var err error
	q.Namespace, err = readNamespace(caller, metadata)
	return q, err
}

// readNamespace reads the namespace: "name", "owner/name", or a name with the owner in
// metadata.username.
func readNamespace(caller Caller, metadata map[string]any) (NamespaceRef, error) {
	name, _ := metadata[metadataNamespace].(string)
	if name == "" {
		return NamespaceRef{}, Errorf(ErrInvalid, "message metadata.namespace is required")
	}
	owner := Self
	before, after, both := strings.Cut(name, "/")
	if both {
		owner, name = before, after
	}
	if beside := metadata[metadataUsername]; beside != nil {
		username, _ := beside.(string)
		if username == "" {
			return NamespaceRef{}, Errorf(ErrInvalid, "message metadata.username must be the name of a user")
		}
		if both && caller.Resolve(owner) != caller.Resolve(username) {
			return NamespaceRef{}, Errorf(ErrInvalid, "message metadata.namespace and metadata.username name different owners")
		}
		owner = username
	}
	ref := NamespaceRef{Owner: caller.Resolve(owner), Name: name}
	if CheckUsername(ref.Owner) != "" || CheckName(ref.Name) != "" {
		return NamespaceRef{}, Errorf(ErrInvalid, "message metadata.namespace must be a namespace, or owner/namespace")
	}
	return ref, nil
}
