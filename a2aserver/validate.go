package a2aserver

import (
	"fmt"
	"math"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/modes"
	"parley/a2aserver/params"
	"parley/internal/domain"
)

// maxPageSize is the largest page of tasks.
const maxPageSize = 100

// The host checks requests itself, whichever transport read them.

func invalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// invalidField is invalidParams for one wrong field.
func invalidField(field, format string, args ...any) error {
	return fmt.Errorf("%w: %w", a2a.ErrInvalidParams, domain.Invalid(domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)}))
}

func checkSend(request *a2a.SendMessageRequest) error {
	switch message := request.Message; {
	case message == nil:
		return invalidField("message", "is required")
	case message.ID == "":
		return invalidField("message.messageId", "is required")
	case message.Role != a2a.MessageRoleUser:
		return invalidField("message.role", "must be ROLE_USER")
	}
	for i, part := range request.Message.Parts {
		if part == nil || part.Content == nil {
			return invalidField(fmt.Sprintf("message.parts[%d]", i), "must have one of text, raw, url and data")
		}
	}
	if err := checkValues(request); err != nil {
		return err
	}
	if err := checkMetadata(request.Message); err != nil {
		return err
	}
	cfg := request.Config
	if cfg == nil {
		return nil
	}
	if _, err := modes.Read(cfg.AcceptedOutputModes); err != nil {
		return err
	}
	return checkHistory("configuration.historyLength", cfg.HistoryLength)
}

func checkTask(id a2a.TaskID, history *int) error {
	if id == "" {
		return invalidField("id", "is required")
	}
	return checkHistory("historyLength", history)
}

func checkHistory(field string, length *int) error {
	if length != nil && *length < 0 {
		return invalidField(field, "must not be negative")
	}
	return nil
}

func checkList(request *a2a.ListTasksRequest) error {
	if request.PageSize < 0 || request.PageSize > maxPageSize {
		return invalidField("pageSize", "must be from 1 to %d", maxPageSize)
	}
	if _, known := a2apb.TaskState_value[request.Status.String()]; !known {
		return invalidField("status", "must be the name of a task's state, such as %s", a2a.TaskStateWorking)
	}
	if after := request.StatusTimestampAfter; after != nil && timestamppb.New(*after).CheckValid() != nil {
		return invalidField("statusTimestampAfter", "must be a time such as 2006-01-02T15:04:05Z") // gRPC has others
	}
	return checkHistory("historyLength", request.HistoryLength)
}

// maxMetadata limits a message without its parts' content, in bytes: tasks have it whenever
// they are read.
const maxMetadata = 64 << 10

func checkMetadata(message *a2a.Message) error {
	rest := *message
	rest.Parts = make(a2a.ContentParts, len(message.Parts))
	for i, part := range message.Parts {
		empty := *part
		empty.Content = a2a.Text("")
		rest.Parts[i] = &empty
	}
	text, err := a2ajson.AppendMessage(nil, &rest)
	if err == nil && len(text) > maxMetadata {
		return invalidField("message.metadata", "must be at most %d bytes, with all else that the message has beside its text", maxMetadata)
	}
	return err
}

// checkValues refuses values in a request that could be stored and not be read again:
// gRPC has numbers that JSON has not, and readers of JSON limit its nesting.
func checkValues(request *a2a.SendMessageRequest) error {
	if problem := checkValue(request.Metadata, params.MaxDepth); problem != "" {
		return invalidField("metadata", "%s", problem)
	}
	if problem := checkValue(request.Message.Metadata, params.MaxDepth); problem != "" {
		return invalidField("message.metadata", "%s", problem)
	}
	for i, part := range request.Message.Parts {
		problem := checkValue(part.Metadata, params.MaxDepth)
		if data, ok := part.Content.(a2a.Data); ok && problem == "" {
			problem = checkValue(data.Value, params.MaxDepth)
		}
		if problem != "" {
			return invalidField(fmt.Sprintf("message.parts[%d]", i), "%s", problem)
		}
	}
	return nil
}

// checkValue says what is wrong with a value that nests at most so deeply; "" for nothing.
func checkValue(value any, depth int) (problem string) {
	if depth == 0 {
		return "is nested too deeply"
	}
	switch value := value.(type) {
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return "has a number that JSON has not"
		}
	case []any:
		for _, item := range value {
			if problem = checkValue(item, depth-1); problem != "" {
				return problem
			}
		}
	case map[string]any:
		for _, item := range value {
			if problem = checkValue(item, depth-1); problem != "" {
				return problem
			}
		}
	}
	return ""
}
