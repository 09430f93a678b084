package a2ajson

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/jsontext"
)

// Events and tasks are encoded by hand: encoding/json with the SDK's MarshalJSON methods
// would take a fifth of the time of a stream. The result is the same, except that <, >
// and & are not escaped, since queries are full of them, and for the form of timestamps.

// timestampFormat has always three decimals, as the protocol asks.
const timestampFormat = "2006-01-02T15:04:05.000Z"

// encoder appends JSON to text. err is the first error.
type encoder struct {
	text []byte
	err  error
}

// AppendEvent encodes an event as an a2a.StreamResponse.
func AppendEvent(text []byte, event a2a.Event) ([]byte, error) {
	e := encoder{text: text}
	switch event := event.(type) {
	case *a2a.Task:
		e.raw(`{"task":`)
		e.task(event)
	case *a2a.TaskStatusUpdateEvent:
		e.raw(`{"statusUpdate":{"taskId":`)
		e.string(string(event.TaskID))
		e.member("contextId", event.ContextID)
		e.key("status")
		e.status(event.Status)
		e.metadata(event.Metadata)
		e.raw("}")
	case *a2a.TaskArtifactUpdateEvent:
		e.artifactUpdate(event)
	case *a2a.Message:
		e.raw(`{"message":`)
		e.message(event)
	default:
		return nil, fmt.Errorf("write an event: unknown type %T", event)
	}
	e.raw("}")
	return e.text, e.err
}

// AppendTask encodes a task.
func AppendTask(text []byte, task *a2a.Task) ([]byte, error) {
	e := encoder{text: text}
	e.task(task)
	return e.text, e.err
}

// AppendList encodes a page of tasks.
func AppendList(text []byte, list *a2a.ListTasksResponse) ([]byte, error) {
	e := encoder{text: text}
	e.raw(`{"tasks":`)
	each(&e, list.Tasks, e.task)
	e.member("nextPageToken", list.NextPageToken)
	e.text = fmt.Appendf(e.text, `,"pageSize":%d,"totalSize":%d}`, list.PageSize, list.TotalSize)
	return e.text, e.err
}

// AppendMessage encodes a message.
func AppendMessage(text []byte, message *a2a.Message) ([]byte, error) {
	e := encoder{text: text}
	e.message(message)
	return e.text, e.err
}

// AppendRequest encodes what a request says: its message, metadata and tenant, and not how
// the client wants its answer. It is for comparing requests; the text is not one JSON value.
func AppendRequest(text []byte, request *a2a.SendMessageRequest) ([]byte, error) {
	e := encoder{text: text}
	e.message(request.Message)
	e.metadata(request.Metadata)
	e.optional("tenant", request.Tenant)
	return e.text, e.err
}

// AppendString encodes a text; invalid UTF-8 becomes U+FFFD.
func AppendString(text []byte, value string) []byte {
	e := encoder{text: text}
	e.string(value)
	return e.text
}

func (e *encoder) raw(text string) { e.text = append(e.text, text...) }

// string encodes a text; invalid UTF-8 becomes U+FFFD.
func (e *encoder) string(text string) {
	if !isPlain(text) {
		e.value(text)
		return
	}
	e.text = append(e.text, '"')
	e.text = append(e.text, text...)
	e.text = append(e.text, '"')
}

// isPlain reports whether a text needs no escaping in JSON.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(text)
}

func (e *encoder) value(value any) {
	// What metadata mostly holds; encoding/json takes several times as long for it.
	switch v := value.(type) {
	case json.RawMessage:
		if json.Valid(v) {
			e.text = append(e.text, v...)
			return
		}
	case string:
		if isPlain(v) {
			e.string(v)
			return
		}
	case map[string]any:
		if v != nil {
			e.object(v)
			return
		}
	}
	text, err := jsontext.Marshal(value)
	if err != nil && e.err == nil {
		e.err = err
	}
	e.text = append(e.text, text...)
}

// object encodes a map with its keys in order.
func (e *encoder) object(members map[string]any) {
	e.raw("{")
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			e.raw(",")
		}
		e.string(name)
		e.raw(":")
		e.value(members[name])
	}
	e.raw("}")
}

// key starts a member after the first.
func (e *encoder) key(name string) {
	e.raw(`,"`)
	e.raw(name)
	e.raw(`":`)
}

func (e *encoder) member(name, text string) {
	e.key(name)
	e.string(text)
}

// optional, texts and metadata encode members that are omitted when empty.
func (e *encoder) optional(name, text string) {
	if text != "" {
		e.member(name, text)
	}
}

func texts[T ~string](e *encoder, name string, texts []T) {
	if len(texts) > 0 {
		e.key(name)
		e.value(texts)
	}
}

func (e *encoder) metadata(metadata map[string]any) {
	if len(metadata) > 0 {
		e.key("metadata")
		e.value(metadata)
	}
}

func (e *encoder) task(task *a2a.Task) {
	e.raw(`{"id":`)
	e.string(string(task.ID))
	e.member("contextId", task.ContextID)
	e.key("status")
	e.status(task.Status)
	if len(task.History) > 0 {
		e.key("history")
		each(e, task.History, e.message)
	}
	if len(task.Artifacts) > 0 {
		e.key("artifacts")
		each(e, task.Artifacts, e.artifact)
	}
	e.metadata(task.Metadata)
	e.raw("}")
}

func (e *encoder) status(status a2a.TaskStatus) {
	e.raw(`{"state":`)
	e.string(status.State.String())
	if status.Timestamp != nil {
		e.raw(`,"timestamp":"`)
		e.text = status.Timestamp.UTC().AppendFormat(e.text, timestampFormat)
		e.raw(`"`)
	}
	if status.Message != nil {
		e.key("message")
		e.message(status.Message)
	}
	e.raw("}")
}

func (e *encoder) message(message *a2a.Message) {
	e.raw(`{"messageId":`)
	e.string(message.ID)
	e.optional("contextId", message.ContextID)
	e.optional("taskId", string(message.TaskID))
	e.member("role", message.Role.String())
	e.key("parts")
	each(e, message.Parts, e.part)
	e.metadata(message.Metadata)
	texts(e, "extensions", message.Extensions)
	texts(e, "referenceTaskIds", message.ReferenceTasks)
	e.raw("}")
}

func (e *encoder) artifactUpdate(update *a2a.TaskArtifactUpdateEvent) {
	e.raw(`{"artifactUpdate":{"taskId":`)
	e.string(string(update.TaskID))
	e.member("contextId", update.ContextID)
	e.key("artifact")
	e.artifact(update.Artifact)
	if update.Append {
		e.raw(`,"append":true`)
	}
	if update.LastChunk {
		e.raw(`,"lastChunk":true`)
	}
	e.metadata(update.Metadata)
	e.raw("}")
}

func (e *encoder) artifact(artifact *a2a.Artifact) {
	e.raw(`{"artifactId":`)
	e.string(string(artifact.ID))
	e.optional("name", artifact.Name)
	e.optional("description", artifact.Description)
	e.key("parts")
	each(e, artifact.Parts, e.part)
	e.metadata(artifact.Metadata)
	texts(e, "extensions", artifact.Extensions)
	e.raw("}")
}

func (e *encoder) part(part *a2a.Part) {
	switch content := part.Content.(type) {
	case a2a.Text:
		e.raw(`{"text":`)
		e.string(string(content))
	case a2a.Data:
		e.raw(`{"data":`)
		e.value(content.Value)
	case a2a.Raw:
		e.raw(`{"raw":"`)
		e.text = base64.StdEncoding.AppendEncode(e.text, content)
		e.raw(`"`)
	case a2a.URL:
		e.raw(`{"url":`)
		e.string(string(content))
	default:
		if e.err == nil {
			e.err = fmt.Errorf("write a part: unknown content %T", content)
		}
		return
	}
	e.optional("filename", part.Filename)
	e.optional("mediaType", part.MediaType)
	e.metadata(part.Metadata)
	e.raw("}")
}

func each[T any](e *encoder, items []T, write func(T)) {
	e.raw("[")
	for i, item := range items {
		if i > 0 {
			e.raw(",")
		}
		write(item)
	}
	e.raw("]")
}
