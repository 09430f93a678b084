package a2aserver

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2apb/v1/pbconv"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxPageSize is the largest page of tasks.
const maxPageSize = 100

func invalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// readParams reads params as proto3-JSON. Absent params are an empty object.
func readParams(method string, params json.RawMessage, into proto.Message) error {
	if len(params) == 0 {
		return nil
	}
	if params[0] != '{' {
		return invalidParams("params of %s must be an object", method)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(params, into); err != nil {
		return invalidParams("params do not fit %s%s", method, typeError(err.Error()))
	}
	return nil
}

// misfits maps the errors of protojson to messages for clients. Other errors of it are
// about its internals.
var misfits = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`(?s)invalid value for (\w+) field (\w+): (.*)$`), ": invalid value for %[1]s field %[2]s: %[3]s"},
	{regexp.MustCompile(`duplicate field "(\w+)"$`), ": field %[1]s is given twice"},
	{regexp.MustCompile(`error parsing "(\w+)", oneof`), ": field %[1]s rules out another that is given"},
	{regexp.MustCompile(`(?s)google\.protobuf\.Timestamp value(?: out of range:)? (.*)$`), ": invalid time %[1]s"},
	{regexp.MustCompile(`(?s)unexpected token (.*)$`), ": unexpected %[1]s"},
}

func typeError(text string) string {
	for _, m := range misfits {
		found := m.theirs.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		args := make([]any, len(found)-1)
		for i, group := range found[1:] {
			args[i] = shorten(group)
		}
		return fmt.Sprintf(m.ours, args...)
	}
	return ""
}

func readSendMessage(method string, params json.RawMessage) (*a2a.SendMessageRequest, error) {
	var in a2apb.SendMessageRequest
	if err := readParams(method, params, &in); err != nil {
		return nil, err
	}
	if err := checkMessage(in.GetMessage()); err != nil {
		return nil, err
	}
	if in.GetConfiguration().GetTaskPushNotificationConfig() != nil {
		return nil, a2a.ErrPushNotificationNotSupported
	}
	if err := checkHistoryLength("configuration.historyLength", in.GetConfiguration().GetHistoryLength()); err != nil {
		return nil, err
	}
	request, err := pbconv.FromProtoSendMessageRequest(&in)
	if err != nil {
		return nil, fmt.Errorf("%w: convert params: %w", a2a.ErrInvalidParams, err)
	}
	for i, part := range in.GetMessage().GetParts() {
		// The conversion accepts objects only.
		if data, ok := part.GetContent().(*a2apb.Part_Data); ok {
			request.Message.Parts[i].Content = a2a.Data{Value: data.Data.AsInterface()}
		}
	}
	return request, nil
}

func checkMessage(message *a2apb.Message) error {
	switch {
	case message == nil:
		return invalidParams("message is required")
	case message.GetMessageId() == "":
		return invalidParams("message.messageId is required")
	case message.GetRole() != a2apb.Role_ROLE_USER:
		return invalidParams("message.role must be ROLE_USER")
	}
	for i, part := range message.GetParts() {
		if part.GetContent() == nil {
			return invalidParams("message.parts[%d] must have one of text, raw, url and data", i)
		}
	}
	return nil
}

func checkHistoryLength(field string, length int32) error {
	if length < 0 {
		return invalidParams("%s must not be negative", field)
	}
	return nil
}

func readGetTask(method string, params json.RawMessage) (*a2a.GetTaskRequest, error) {
	var in a2apb.GetTaskRequest
	if err := readTaskParams(method, params, &in); err != nil {
		return nil, err
	}
	if err := checkHistoryLength("historyLength", in.GetHistoryLength()); err != nil {
		return nil, err
	}
	return pbconv.FromProtoGetTaskRequest(&in)
}

func readCancelTask(method string, params json.RawMessage) (*a2a.CancelTaskRequest, error) {
	var in a2apb.CancelTaskRequest
	if err := readTaskParams(method, params, &in); err != nil {
		return nil, err
	}
	return pbconv.FromProtoCancelTaskRequest(&in)
}

func readSubscribe(method string, params json.RawMessage) (*a2a.SubscribeToTaskRequest, error) {
	var in a2apb.SubscribeToTaskRequest
	if err := readTaskParams(method, params, &in); err != nil {
		return nil, err
	}
	return pbconv.FromProtoSubscribeToTaskRequest(&in)
}

// readTaskParams reads the params of a method for one task.
func readTaskParams(method string, params json.RawMessage, into interface {
	proto.Message
	GetId() string
}) error {
	if err := readParams(method, params, into); err != nil {
		return err
	}
	if into.GetId() == "" {
		return invalidParams("id is required")
	}
	return nil
}

func readListTasks(method string, params json.RawMessage) (*a2a.ListTasksRequest, error) {
	var in a2apb.ListTasksRequest
	if err := readParams(method, params, &in); err != nil {
		return nil, err
	}
	if in.PageSize != nil && (in.GetPageSize() < 1 || in.GetPageSize() > maxPageSize) {
		return nil, invalidParams("pageSize must be from 1 to %d", maxPageSize)
	}
	if !knownState(in.GetStatus(), params) {
		return nil, invalidParams("status must be the name of a task's state, such as %s", a2a.TaskStateWorking)
	}
	if err := checkHistoryLength("historyLength", in.GetHistoryLength()); err != nil {
		return nil, err
	}
	return pbconv.FromProtoListTasksRequest(&in)
}

// knownState reports whether the status in params exists or is absent. protojson would
// treat an unknown one as absent and list everything.
func knownState(state a2apb.TaskState, params json.RawMessage) bool {
	if state != a2apb.TaskState_TASK_STATE_UNSPECIFIED || len(params) == 0 {
		return a2apb.TaskState_name[int32(state)] != ""
	}
	// Unknown names are skipped like unknown fields.
	var members map[string]json.RawMessage
	if json.Unmarshal(params, &members) != nil {
		return false
	}
	switch string(members["status"]) {
	case "", "null", "0", `"` + a2a.TaskStateUnspecified.String() + `"`:
		return true
	}
	return false
}

func readExtendedCard(method string, params json.RawMessage) (*a2a.GetExtendedAgentCardRequest, error) {
	var in a2apb.GetExtendedAgentCardRequest
	if err := readParams(method, params, &in); err != nil {
		return nil, err
	}
	return pbconv.FromProtoGetExtendedAgentCardRequest(&in)
}
