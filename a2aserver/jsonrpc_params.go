package a2aserver

import (
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"parley/storage"
)

const (
	// maxDepth limits the nesting of params.
	maxDepth = 64
	// maxProblem limits the text about params that do not fit, in bytes.
	maxProblem = 200
)

// Params are proto3-JSON. They are converted by hand: the SDK's conversion drops negative
// numbers and data that is not an object, and has other errors than the host.

// readParams reads params. Absent ones are an empty object.
func readParams(request rpcRequest, into proto.Message) error {
	if len(request.params) == 0 {
		return nil
	}
	if request.params[0] != '{' {
		return invalidField("params", "of %s must be an object", request.method)
	}
	err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}).Unmarshal(request.params, into)
	if err == nil {
		return nil
	}
	// The text is "proto: (line 1:7): problem". Its beginning varies from build to build.
	_, problem, ok := strings.Cut(err.Error(), "): ")
	if !ok {
		return invalidField("params", "do not fit %s", request.method)
	}
	return invalidField("params", "do not fit %s: %s", request.method, storage.Truncate(problem, maxProblem))
}

func readSendMessage(request rpcRequest) (*a2a.SendMessageRequest, error) {
	var in a2apb.SendMessageRequest
	if err := readParams(request, &in); err != nil {
		return nil, err
	}
	return toSendMessage(&in), nil
}

func toSendMessage(in *a2apb.SendMessageRequest) *a2a.SendMessageRequest {
	out := &a2a.SendMessageRequest{Tenant: in.GetTenant(), Message: toMessage(in.GetMessage()), Metadata: toMap(in.GetMetadata())}
	if cfg := in.GetConfiguration(); cfg != nil {
		out.Config = &a2a.SendMessageConfig{
			AcceptedOutputModes: cfg.GetAcceptedOutputModes(), ReturnImmediately: cfg.GetReturnImmediately(), HistoryLength: toInt(cfg.HistoryLength),
		}
		if push := cfg.GetTaskPushNotificationConfig(); push != nil {
			out.Config.PushConfig = toPushConfig(push)
		}
	}
	return out
}

func toMessage(in *a2apb.Message) *a2a.Message {
	if in == nil {
		return nil
	}
	message := &a2a.Message{
		ID: in.GetMessageId(), ContextID: in.GetContextId(), TaskID: a2a.TaskID(in.GetTaskId()),
		Role: a2a.MessageRole(in.GetRole().String()), Extensions: in.GetExtensions(), Metadata: toMap(in.GetMetadata()),
	}
	for _, id := range in.GetReferenceTaskIds() {
		message.ReferenceTasks = append(message.ReferenceTasks, a2a.TaskID(id))
	}
	for _, part := range in.GetParts() {
		message.Parts = append(message.Parts, toPart(part))
	}
	return message
}

func toPart(in *a2apb.Part) *a2a.Part {
	part := &a2a.Part{Filename: in.GetFilename(), MediaType: in.GetMediaType(), Metadata: toMap(in.GetMetadata())}
	switch content := in.GetContent().(type) {
	case *a2apb.Part_Text:
		part.Content = a2a.Text(content.Text)
	case *a2apb.Part_Raw:
		part.Content = a2a.Raw(content.Raw)
	case *a2apb.Part_Url:
		part.Content = a2a.URL(content.Url)
	case *a2apb.Part_Data:
		part.Content = a2a.Data{Value: content.Data.AsInterface()}
	}
	return part
}

func toMap(in *structpb.Struct) map[string]any {
	if in == nil {
		return nil
	}
	return in.AsMap()
}

func toInt(in *int32) *int {
	if in == nil {
		return nil
	}
	return new(int(*in))
}

func readGetTask(request rpcRequest) (*a2a.GetTaskRequest, error) {
	var in a2apb.GetTaskRequest
	err := readParams(request, &in)
	return toGetTask(&in), err
}

func toGetTask(in *a2apb.GetTaskRequest) *a2a.GetTaskRequest {
	return &a2a.GetTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId()), HistoryLength: toInt(in.HistoryLength)}
}

func readCancelTask(request rpcRequest) (*a2a.CancelTaskRequest, error) {
	var in a2apb.CancelTaskRequest
	err := readParams(request, &in)
	return toCancelTask(&in), err
}

func toCancelTask(in *a2apb.CancelTaskRequest) *a2a.CancelTaskRequest {
	return &a2a.CancelTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId()), Metadata: toMap(in.GetMetadata())}
}

func readSubscribe(request rpcRequest) (*a2a.SubscribeToTaskRequest, error) {
	var in a2apb.SubscribeToTaskRequest
	err := readParams(request, &in)
	return toSubscribe(&in), err
}

func toSubscribe(in *a2apb.SubscribeToTaskRequest) *a2a.SubscribeToTaskRequest {
	return &a2a.SubscribeToTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId())}
}

func readListTasks(request rpcRequest) (*a2a.ListTasksRequest, error) {
	var in a2apb.ListTasksRequest
	if err := readParams(request, &in); err != nil {
		return nil, err
	}
	return toListTasks(&in, toState(in.GetStatus(), request.params)), nil
}

func toListTasks(in *a2apb.ListTasksRequest, state a2a.TaskState) *a2a.ListTasksRequest {
	out := &a2a.ListTasksRequest{
		Tenant: in.GetTenant(), ContextID: in.GetContextId(), Status: state,
		PageSize: int(in.GetPageSize()), PageToken: in.GetPageToken(),
		HistoryLength: toInt(in.HistoryLength), IncludeArtifacts: in.GetIncludeArtifacts(),
	}
	if in.PageSize != nil && out.PageSize == 0 {
		out.PageSize = -1 // 0 would be the default size; the host refuses this
	}
	if after := in.GetStatusTimestampAfter(); after != nil {
		out.StatusTimestampAfter = new(after.AsTime())
	}
	return out
}

// toState gives the state that params name. protojson discards an unknown name like an
// unknown field; the host must refuse it, not list everything.
func toState(state a2apb.TaskState, params json.RawMessage) a2a.TaskState {
	if state != a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		return a2a.TaskState(state.String())
	}
	var name struct {
		Status any `json:"status"`
	}
	if json.Unmarshal(params, &name) == nil {
		if text, ok := name.Status.(string); ok && text != a2a.TaskStateUnspecified.String() {
			return a2a.TaskState(text)
		}
	}
	return a2a.TaskStateUnspecified
}

func readExtendedCard(request rpcRequest) (*a2a.GetExtendedAgentCardRequest, error) {
	var in a2apb.GetExtendedAgentCardRequest
	err := readParams(request, &in)
	return toExtendedCard(&in), err
}

func toExtendedCard(in *a2apb.GetExtendedAgentCardRequest) *a2a.GetExtendedAgentCardRequest {
	return &a2a.GetExtendedAgentCardRequest{Tenant: in.GetTenant()}
}
