// Package params reads the params of A2A's methods: proto3-JSON, and the messages of gRPC.
// They are converted by hand: the SDK's conversion drops negative numbers and data that is
// not an object, and has other errors than the host. What they may hold is left to the host.
package params

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// MaxDepth limits the nesting of params.
const MaxDepth = 64

// Read reads the params of a method. Absent ones are an empty object. The problem is nil if they
// can be read.
func Read(method string, text json.RawMessage, into proto.Message) *Problem {
	if len(text) == 0 {
		return nil
	}
	if text[0] != '{' {
		return &Problem{whole, fmt.Sprintf("of %s must be an object", method)}
	}
	err := (protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: MaxDepth}).Unmarshal(text, into)
	if list, ok := into.(*a2apb.ListTasksRequest); err == nil && ok {
		return findState(list, text)
	}
	if err == nil {
		return nil
	}
	if problem := findProblem(into.ProtoReflect().Descriptor(), text); problem != nil {
		return problem
	}
	return &Problem{whole, fmt.Sprintf("do not fit %s", method)}
}

// SendMessage converts a request.
func SendMessage(in *a2apb.SendMessageRequest) *a2a.SendMessageRequest {
	out := &a2a.SendMessageRequest{Tenant: in.GetTenant(), Message: toMessage(in.GetMessage()), Metadata: toMap(in.GetMetadata())}
	if cfg := in.GetConfiguration(); cfg != nil {
		out.Config = &a2a.SendMessageConfig{
			AcceptedOutputModes: cfg.GetAcceptedOutputModes(), ReturnImmediately: cfg.GetReturnImmediately(), HistoryLength: toInt(cfg.HistoryLength),
		}
		if push := cfg.GetTaskPushNotificationConfig(); push != nil {
			out.Config.PushConfig = PushConfig(push)
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

// GetTask converts a request.
func GetTask(in *a2apb.GetTaskRequest) *a2a.GetTaskRequest {
	return &a2a.GetTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId()), HistoryLength: toInt(in.HistoryLength)}
}

// CancelTask converts a request.
func CancelTask(in *a2apb.CancelTaskRequest) *a2a.CancelTaskRequest {
	return &a2a.CancelTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId()), Metadata: toMap(in.GetMetadata())}
}

// Subscribe converts a request.
func Subscribe(in *a2apb.SubscribeToTaskRequest) *a2a.SubscribeToTaskRequest {
	return &a2a.SubscribeToTaskRequest{Tenant: in.GetTenant(), ID: a2a.TaskID(in.GetId())}
}

// ListTasks converts a request.
func ListTasks(in *a2apb.ListTasksRequest) *a2a.ListTasksRequest {
	out := &a2a.ListTasksRequest{
		Tenant: in.GetTenant(), ContextID: in.GetContextId(),
		PageSize: int(in.GetPageSize()), PageToken: in.GetPageToken(),
		HistoryLength: toInt(in.HistoryLength), IncludeArtifacts: in.GetIncludeArtifacts(),
	}
	if in.GetStatus() != a2apb.TaskState_TASK_STATE_UNSPECIFIED {
		out.Status = a2a.TaskState(in.GetStatus().String())
	}
	if in.PageSize != nil && out.PageSize == 0 {
		out.PageSize = -1 // 0 would be the default size; the host refuses this
	}
	if after := in.GetStatusTimestampAfter(); after != nil {
		out.StatusTimestampAfter = new(after.AsTime())
	}
	return out
}

// findState finds an unknown name of a state: protojson discards it like an unknown field, and the
// host would list everything.
func findState(in *a2apb.ListTasksRequest, text json.RawMessage) *Problem {
	var name struct {
		Status any `json:"status"`
	}
	if in.GetStatus() == a2apb.TaskState_TASK_STATE_UNSPECIFIED && json.Unmarshal(text, &name) == nil {
		if named, ok := name.Status.(string); ok && named != "" && named != a2a.TaskStateUnspecified.String() {
			return &Problem{"status", "must be the name of a task's state, such as " + string(a2a.TaskStateWorking)}
		}
	}
	return nil
}

// ExtendedCard converts a request.
func ExtendedCard(in *a2apb.GetExtendedAgentCardRequest) *a2a.GetExtendedAgentCardRequest {
	return &a2a.GetExtendedAgentCardRequest{Tenant: in.GetTenant()}
}
