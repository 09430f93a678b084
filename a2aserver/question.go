package a2aserver

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"parley/a2aserver/modes"
	"parley/internal/domain"
	"parley/internal/locale"
)

// toQuestion reads the question of a request.
func (s *agentService) toQuestion(ctx context.Context, who domain.Caller, request *a2a.SendMessageRequest) (domain.Question, error) {
	text, err := readText(request.Message)
	if err != nil {
		return domain.Question{}, err
	}
	// Many clients can only set the metadata of the request.
	question, err := domain.ReadQuestion(text,
		domain.Settings{Where: "message.metadata", Values: request.Message.Metadata},
		domain.Settings{Where: "metadata", Values: request.Metadata})
	if err != nil {
		return question, err
	}
	question.Caller, question.Agent, question.Locale = who, s.agent.Name, locale.From(ctx)
	question.Inferred, question.Standing = false, nil
	if question.Message, err = sentMessage(request); err != nil {
		return question, err
	}
	if question.Namespace, err = s.namedNamespace(who, request); err != nil {
		return question, err
	}
	question.ConversationID, err = conversationID(who, s.agent.Name, request.Message.ContextID)
	return question, err
}

// readText returns the text of a message, which must have some.
func readText(message *a2a.Message) (string, error) {
	if len(message.Parts) == 0 {
		return "", invalidField("message.parts", "is required")
	}
	text := messageText(message)
	if text == "" && !slices.ContainsFunc(message.Parts, isText) {
		return "", a2a.NewError(a2a.ErrUnsupportedContentType, "the question must be a text part")
	}
	return text, nil
}

func isText(part *a2a.Part) bool {
	_, ok := part.Content.(a2a.Text)
	return ok
}

// messageText returns the text parts of a message, one on a line.
func messageText(message *a2a.Message) string {
	var texts []string
	for _, part := range message.Parts {
		if text, ok := part.Content.(a2a.Text); ok {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "\n")
}

// readSettings adds to the question of a stored run what only its message says.
func readSettings(question *domain.Question, message *a2a.Message) error {
	source := domain.Settings{Where: "message.metadata", Values: message.Metadata}
	stored, err := domain.ReadQuestion(question.Text, source)
	if err == nil && question.Namespace == (domain.NamespaceRef{}) {
		question.Namespace, err = domain.ReadNamespace(question.Caller, source)
	}
	question.NeverAsk, question.MinConfidence, question.Inferred, question.Standing = stored.NeverAsk, stored.MinConfidence, stored.Inferred, stored.Standing
	question.Provider, question.Model = cmp.Or(question.Provider, stored.Provider), cmp.Or(question.Model, stored.Model)
	question.HelperPrompt = cmp.Or(question.HelperPrompt, stored.HelperPrompt)
	return err
}

// storedMessage returns the message of a run as its task has it.
func storedMessage(question domain.Question, message *a2a.Message) *a2a.Message {
	stored := *message
	stored.TaskID, stored.ContextID = a2a.TaskID(question.RunID), cmp.Or(message.ContextID, question.ConversationID)
	stored.ReferenceTasks = slices.Clone(message.ReferenceTasks)
	for i, id := range stored.ReferenceTasks {
		if runID, err := readID(string(id)); err == nil {
			stored.ReferenceTasks[i] = a2a.TaskID(runID)
		}
	}
	if question.NeverAsk || question.MinConfidence != nil || question.Inferred || question.Standing != nil ||
		message.Metadata[domain.MetadataInferred] != nil || message.Metadata[domain.MetadataStanding] != nil {
		// The log has them only here, and the client may have set the first two for the request.
		stored.Metadata = map[string]any{}
		maps.Copy(stored.Metadata, message.Metadata)
		delete(stored.Metadata, domain.MetadataInferred)
		delete(stored.Metadata, domain.MetadataStanding)
		maps.Copy(stored.Metadata, domain.Question{NeverAsk: question.NeverAsk, MinConfidence: question.MinConfidence, Inferred: question.Inferred, Standing: question.Standing}.Metadata())
	}
	return &stored
}

// readID returns a UUID in canonical form.
func readID(text string) (string, error) {
	id, err := uuid.Parse(text)
	if err == nil && len(text) != len(id.String()) {
		err = domain.ErrInvalid // such as braces
	}
	return id.String(), err
}

// modesOf returns the modes of a request that was checked.
func modesOf(request *a2a.SendMessageRequest) *modes.Accepted {
	if request.Config == nil {
		return nil
	}
	accepted, _ := modes.Read(request.Config.AcceptedOutputModes)
	return accepted
}
