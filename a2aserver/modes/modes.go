// Package modes tailors events and tasks to the kinds of parts that a client accepts. Stored
// ones have all parts.
package modes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/jsontext"
)

const (
	mediaPlain    = "text/plain"
	mediaMarkdown = "text/markdown"
	mediaJSON     = "application/json"
)

// Accepted are the kinds of parts that a client accepts; nil for all.
type Accepted struct{ text, markdown, data bool }

// Read reads the media types that a client accepts. Clients of older versions send
// "text" and "data".
func Read(accepted []string) (*Accepted, error) {
	if len(accepted) == 0 {
		return nil, nil
	}
	var modes Accepted
	for _, mode := range accepted {
		mode, _, _ = strings.Cut(mode, ";")
		switch strings.ToLower(strings.TrimSpace(mode)) {
		case "*/*", "*":
			return nil, nil
		case "text", mediaPlain:
			modes.text = true
		case "text/*", mediaMarkdown:
			modes.text, modes.markdown = true, true
		case "data", mediaJSON, "application/*":
			modes.data = true
		}
	}
	switch modes {
	case Accepted{}:
		return nil, a2a.NewError(a2a.ErrUnsupportedContentType, "answers are text/plain and application/json")
	case Accepted{text: true, markdown: true, data: true}:
		return nil, nil
	}
	return &modes, nil
}

// String returns the modes as Read reads them, separated by commas; "" for all.
func (m *Accepted) String() string {
	if m == nil {
		return ""
	}
	var accepted []string
	if m.text {
		accepted = append(accepted, mediaPlain)
	}
	if m.markdown {
		accepted = append(accepted, mediaMarkdown)
	}
	if m.data {
		accepted = append(accepted, mediaJSON)
	}
	return strings.Join(accepted, ",")
}

// Event returns an event with the parts that a client accepts.
func (m *Accepted) Event(event a2a.Event) a2a.Event {
	if m == nil {
		return event
	}
	switch event := event.(type) {
	case *a2a.Task:
		return m.Task(event)
	case *a2a.Message:
		return m.message(event)
	case *a2a.TaskStatusUpdateEvent:
		fitted := *event
		fitted.Status.Message = m.message(event.Status.Message)
		return &fitted
	case *a2a.TaskArtifactUpdateEvent:
		fitted := *event
		fitted.Artifact = m.artifact(event.Artifact)
		return &fitted
	}
	return event
}

// Task is Event for a task.
func (m *Accepted) Task(task *a2a.Task) *a2a.Task {
	if m == nil {
		return task
	}
	fitted := *task
	fitted.Status.Message = m.message(task.Status.Message)
	fitted.History = slices.Clone(task.History)
	for i, message := range fitted.History {
		fitted.History[i] = m.message(message)
	}
	fitted.Artifacts = slices.Clone(task.Artifacts)
	for i, artifact := range fitted.Artifacts {
		fitted.Artifacts[i] = m.artifact(artifact)
	}
	return &fitted
}

// message leaves the client's own messages unchanged.
func (m *Accepted) message(message *a2a.Message) *a2a.Message {
	if message == nil || message.Role == a2a.MessageRoleUser {
		return message
	}
	fitted := *message
	fitted.Parts = m.parts(message.Parts)
	return &fitted
}

func (m *Accepted) artifact(artifact *a2a.Artifact) *a2a.Artifact {
	fitted := *artifact
	fitted.Parts = m.parts(artifact.Parts)
	return &fitted
}

// parts returns the parts that the client accepts. There is at least one: where none fits,
// they are converted.
func (m *Accepted) parts(parts a2a.ContentParts) a2a.ContentParts {
	var fitting a2a.ContentParts
	for _, part := range parts {
		if m.accepts(part) {
			fitting = append(fitting, m.relabel(part))
		}
	}
	if len(fitting) > 0 {
		return fitting
	}
	for _, part := range parts {
		fitting = append(fitting, m.convert(part))
	}
	return fitting
}

func (m *Accepted) accepts(part *a2a.Part) bool {
	switch part.Content.(type) {
	case a2a.Text:
		return m.text
	case a2a.Data:
		return m.data
	}
	return false
}

// relabel returns Markdown as plain text to a client that does not know it.
func (m *Accepted) relabel(part *a2a.Part) *a2a.Part {
	if part.MediaType != mediaMarkdown || m.markdown {
		return part
	}
	plain := *part
	plain.MediaType = mediaPlain
	return &plain
}

// convert returns text as data and data as text. Agents emit no other parts.
func (m *Accepted) convert(part *a2a.Part) *a2a.Part {
	converted := *part
	switch content := part.Content.(type) {
	case a2a.Text:
		// The SDK's conversion to 0.3 takes no other map for an object.
		converted.Content, converted.MediaType = a2a.Data{Value: map[string]any{"text": string(content)}}, mediaJSON
	case a2a.Data:
		text, err := jsontext.Marshal(content.Value)
		if err != nil {
			return part // which cannot be sent either
		}
		converted.Content, converted.MediaType = a2a.Text(text), mediaPlain
	}
	return &converted
}

// MediaType returns the media type of a part, or that of its kind.
func MediaType(part *a2a.Part) string {
	kind := "application/octet-stream"
	switch part.Content.(type) {
	case a2a.Text:
		kind = mediaPlain
	case a2a.Data:
		kind = mediaJSON
	}
	return cmp.Or(part.MediaType, kind)
}
