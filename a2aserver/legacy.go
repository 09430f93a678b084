package a2aserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/jsonrpc"
	"parley/internal/domain"
	"parley/internal/jsonscan"
	"parley/internal/jsontext"
)

// A2A 0.3 over JSON-RPC: the methods of another name, whose params and results are those
// of the service in 0.3's words. The SDK has the conversions.

var legacyMethods = map[string]method{
	"message/send":      immediate(fromLegacySend, service.SendMessage, encodeLegacySent),
	"message/stream":    stream(fromLegacySend, openMessage),
	"tasks/get":         unary(sure(a2av0.ToV1GetTaskRequest), service.GetTask, encodeLegacyTask),
	"tasks/list":        unary(sure(a2av0.ToV1ListTasksRequest), service.ListTasks, encodeLegacyList),
	"tasks/cancel":      immediate(sure(a2av0.ToV1CancelTaskRequest), service.CancelTask, encodeLegacyTask),
	"tasks/resubscribe": stream(sure(a2av0.ToV1SubscribeToTaskRequest), openTask),

	"tasks/pushNotificationConfig/set":    unary(sure(a2av0.ToV1PushConfig), service.CreateTaskPushConfig, encodeLegacyPush),
	"tasks/pushNotificationConfig/get":    unary(sure(a2av0.ToV1GetTaskPushConfigRequest), service.GetTaskPushConfig, encodeLegacyPush),
	"tasks/pushNotificationConfig/list":   unary(sure(a2av0.ToV1ListTaskPushConfigRequest), service.ListTaskPushConfigs, encodeLegacyPushList),
	"tasks/pushNotificationConfig/delete": unary(sure(a2av0.ToV1DeleteTaskPushConfigRequest), deletePush, encodeNull),

	"agent/getAuthenticatedExtendedCard": {answer: legacyExtendedCard, short: true},
}

// readLegacy reads params. The SDK's errors name its types: they stay here.
func readLegacy(method string, text json.RawMessage, into any) error {
	switch {
	case len(text) == 0:
		return nil
	case text[0] != '{':
		return invalidParams("params of %s must be an object", method)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return invalidParams("params do not fit %s of A2A %s", method, legacyVersion)
	}
	return nil
}

func fromLegacySend(in *legacy.MessageSendParams) (*a2a.SendMessageRequest, error) {
	if in.Message == nil {
		return nil, invalidParams("message is required") // the conversion needs it
	}
	for i, part := range in.Message.Parts {
		switch part := part.(type) {
		case legacy.DataPart:
			if part.Data == nil {
				return nil, invalidParams("message.parts[%d].data must be an object", i)
			}
		case legacy.FilePart:
			// The conversion would take other texts for the bytes themselves.
			file, ok := part.File.(legacy.FileBytes)
			if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding, strings.NewReader(file.Bytes))); ok && err != nil {
				return nil, invalidParams("message.parts[%d].file.bytes must be base64", i)
			}
		}
	}
	return a2av0.ToV1SendMessageRequest(in)
}

// legacyEnvelope makes each event a response of 0.3 to a JSON-RPC request.
func legacyEnvelope(id json.RawMessage) envelope {
	wrap := rpcEnvelope(id)
	wrap.refusal = func(failure *jsonrpc.Error, _ error) []byte { return jsonrpc.LegacyErrorResponse(id, failure) }
	wrap.convert = func(stored domain.Event) ([]byte, error) {
		event, err := a2ajson.Decode(stored)
		if err != nil {
			return nil, err
		}
		return encodeLegacy(event)
	}
	return wrap
}

func encodeLegacy(event a2a.Event) ([]byte, error) {
	converted, err := a2av0.FromV1Event(withPlainData(event))
	if err != nil {
		return nil, err
	}
	if update, ok := converted.(*legacy.TaskStatusUpdateEvent); ok && update.Status.State == legacy.TaskStateAuthRequired {
		update.Final = true // the stream ends
	}
	return jsontext.Marshal(converted)
}

// withPlainData returns an event whose data the conversion takes for objects: it knows no
// json.RawMessage. The members stay as they are stored, in their order.
func withPlainData(event a2a.Event) a2a.Event {
	switch e := event.(type) {
	case *a2a.Task:
		plain := *e
		plain.Artifacts = eachPlain(e.Artifacts, plainArtifact)
		plain.History = eachPlain(e.History, plainMessage)
		plain.Status.Message = plainMessage(e.Status.Message)
		return &plain
	case *a2a.TaskArtifactUpdateEvent:
		plain := *e
		plain.Artifact = plainArtifact(e.Artifact)
		return &plain
	case *a2a.TaskStatusUpdateEvent:
		plain := *e
		plain.Status.Message = plainMessage(e.Status.Message)
		return &plain
	}
	return event
}

func eachPlain[T any](items []T, plain func(T) T) []T {
	copied := make([]T, len(items))
	for i, item := range items {
		copied[i] = plain(item)
	}
	return copied
}

func plainArtifact(artifact *a2a.Artifact) *a2a.Artifact {
	plain := *artifact
	plain.Parts = eachPlain(artifact.Parts, plainPart)
	return &plain
}

func plainMessage(message *a2a.Message) *a2a.Message {
	if message == nil {
		return nil
	}
	plain := *message
	plain.Parts = eachPlain(message.Parts, plainPart)
	return &plain
}

func plainPart(part *a2a.Part) *a2a.Part {
	if raw, ok := part.Content.(a2a.Raw); ok && len(raw) == 0 {
		// Clients of 0.3 refuse files without bytes.
		file := map[string]any{"filename": part.Filename, "mediaType": part.MediaType, attachmentKey: part.Metadata[attachmentKey]}
		return &a2a.Part{Content: a2a.Data{Value: file}}
	}
	data, _ := part.Content.(a2a.Data)
	raw, ok := data.Value.(json.RawMessage)
	if !ok || len(raw) == 0 || raw[0] != '{' {
		return part
	}
	members := map[string]any{}
	for key, value := range jsonscan.Members(raw) {
		members[string(key)] = json.RawMessage(value)
	}
	copied := *part
	copied.Content = a2a.Data{Value: members}
	return &copied
}

func encodeLegacySent(_ transport, result a2a.SendMessageResult) ([]byte, error) {
	return encodeLegacy(result)
}

func encodeLegacyTask(_ transport, task *a2a.Task) ([]byte, error) { return encodeLegacy(task) }

func encodeLegacyList(_ transport, list *a2a.ListTasksResponse) ([]byte, error) {
	plain := *list
	plain.Tasks = make([]*a2a.Task, len(list.Tasks))
	for i, task := range list.Tasks {
		plain.Tasks[i] = withPlainData(task).(*a2a.Task)
	}
	return jsontext.Marshal(a2av0.FromV1ListTasksResponse(&plain))
}

func encodeLegacyPush(_ transport, config *a2a.PushConfig) ([]byte, error) {
	return jsontext.Marshal(a2av0.FromV1PushConfig(config))
}

func encodeLegacyPushList(_ transport, list *a2a.ListTaskPushConfigResponse) ([]byte, error) {
	configs := a2av0.FromV1PushConfigs(list.Configs)
	if configs == nil {
		configs = []*legacy.TaskPushConfig{} // not null
	}
	return jsontext.Marshal(configs)
}

func encodeNull(transport, none) ([]byte, error) { return []byte("null"), nil }

func legacyExtendedCard(ctx context.Context, t transport, _ any) ([]byte, error) {
	card, err := t.agent.extendedCard(ctx, "")
	if err != nil {
		return nil, err
	}
	return t.LegacyCardJSON(ctx, card)
}
