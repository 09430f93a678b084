package a2aserver

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"parley/storage"
)

// toQuestion reads the question of a message.
func toQuestion(caller storage.Caller, message *a2a.Message) (storage.Question, error) {
	if len(message.Parts) == 0 {
		return storage.Question{}, invalidField("message.parts", "is required")
	}
	var texts []string
	for _, part := range message.Parts {
		if text, ok := part.Content.(a2a.Text); ok {
			texts = append(texts, string(text))
		}
	}
	if len(texts) == 0 {
		return storage.Question{}, a2a.NewError(a2a.ErrUnsupportedContentType, "the question must be a text part")
	}
	q, err := storage.ReadQuestion(caller, strings.Join(texts, "\n"), message.Metadata)
	if err == nil && message.ContextID != "" {
		if q.ConversationID, err = readID(message.ContextID); err != nil {
			err = invalidField("message.contextId", "must be a uuid")
		}
	}
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
