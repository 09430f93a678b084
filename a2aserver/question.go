package a2aserver

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"parley/storage"
)

// Keys of the message metadata.
const (
	namespaceKey    = "namespace"
	usernameKey     = "username"
	modelKey        = "model"
	providerKey     = "provider"
	helperPromptKey = "helperPrompt"
)

// toQuestion reads the question of a message.
func toQuestion(caller storage.Caller, message *a2a.Message) (storage.Question, error) {
	var q storage.Question
	if len(message.Parts) == 0 {
		return q, invalidParams("message.parts is required")
	}
	var err error
	if q.Text, err = questionText(message); err != nil {
		return q, err
	}
	if message.ContextID != "" {
		if q.ConversationID, err = readID(message.ContextID); err != nil {
			return q, invalidParams("message.contextId must be a uuid")
		}
	}
	if q.Model, err = setting(message.Metadata, modelKey, storage.CheckModelName); err != nil {
		return q, err
	}
	if q.Provider, err = setting(message.Metadata, providerKey, storage.CheckModelName); err != nil {
		return q, err
	}
	if q.HelperPrompt, err = setting(message.Metadata, helperPromptKey, storage.CheckHelperPrompt); err != nil {
		return q, err
	}
	q.Namespace, err = toNamespace(caller, message.Metadata)
	return q, err
}

// readID gives a UUID in canonical form.
func readID(text string) (string, error) {
	id, err := uuid.Parse(text)
	if err == nil && len(text) != len(id.String()) {
		err = storage.ErrInvalid // such as braces
	}
	return id.String(), err
}

// questionText joins the text parts of a message.
func questionText(message *a2a.Message) (string, error) {
	var texts []string
	for _, part := range message.Parts {
		if text, ok := part.Content.(a2a.Text); ok {
			texts = append(texts, string(text))
		}
	}
	text := strings.Join(texts, "\n")
	if len(texts) == 0 {
		return "", a2a.NewError(a2a.ErrUnsupportedContentType, "the question must be a text part")
	}
	if problem := storage.CheckQuestion(text); problem != "" {
		return "", invalidParams("the question %s", problem)
	}
	return text, nil
}

// setting reads an optional text of the metadata.
func setting(metadata map[string]any, key string, check func(string) string) (string, error) {
	text, ok := metadata[key].(string)
	if !ok && metadata[key] != nil {
		return "", invalidParams("message metadata.%s must be a string", key)
	}
	if problem := check(text); problem != "" {
		return "", invalidParams("message metadata.%s %s", key, problem)
	}
	return text, nil
}

// readSettings adds to a question what a message's metadata says of how to answer
// it, for a run whose record does not.
func readSettings(q *storage.Question, message *a2a.Message) {
	q.Model, _ = message.Metadata[modelKey].(string)
	q.Provider, _ = message.Metadata[providerKey].(string)
	q.HelperPrompt, _ = message.Metadata[helperPromptKey].(string)
}

// toNamespace reads the namespace: "name", "owner/name", or a name with the owner in
// metadata.username.
func toNamespace(caller storage.Caller, metadata map[string]any) (storage.NamespaceRef, error) {
	text, _ := metadata[namespaceKey].(string)
	if text == "" {
		return storage.NamespaceRef{}, invalidParams("message metadata.namespace is required")
	}
	owner, name, both := strings.Cut(text, "/")
	if !both {
		owner, name = "", text
	}
	beside, given := metadata[usernameKey]
	if given && beside != nil {
		named, ok := beside.(string)
		if !ok || named == "" {
			return storage.NamespaceRef{}, invalidParams("message metadata.username must be the name of a user")
		}
		if both && actor(caller, owner) != actor(caller, named) {
			return storage.NamespaceRef{}, invalidParams("message metadata.namespace and metadata.username name different owners")
		}
		owner, both = named, true
	}
	if !both {
		owner = storage.Self
	}
	ref := storage.NamespaceRef{Owner: actor(caller, owner), Name: name}
	if storage.CheckUsername(ref.Owner) != "" || storage.CheckName(ref.Name) != "" {
		return storage.NamespaceRef{}, invalidParams("message metadata.namespace must be a namespace, or owner/namespace")
	}
	return ref, nil
}

// actor gives the user whom a name in a request means.
func actor(caller storage.Caller, name string) string {
	if name = storage.NormalizeUsername(name); name == storage.Self {
		return caller.Username
	}
	return name
}
