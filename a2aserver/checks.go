package a2aserver

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"parley/storage"
)

// maxPageSize is the largest page of tasks.
const maxPageSize = 100

// The host checks requests itself, whichever transport read them.

func invalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// invalidField is invalidParams for one wrong field.
func invalidField(field, format string, args ...any) error {
	return fmt.Errorf("%w: %w", a2a.ErrInvalidParams, storage.Invalid(storage.FieldError{Field: field, Message: fmt.Sprintf(format, args...)}))
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
	cfg := request.Config
	if cfg == nil {
		return nil
	}
	if _, err := readModes(cfg.AcceptedOutputModes); err != nil {
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
	return checkHistory("historyLength", request.HistoryLength)
}
