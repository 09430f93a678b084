package a2aserver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// maxPageSize is the largest page of tasks.
const maxPageSize = 100

// The host checks requests itself, whichever transport read them.

func invalidParams(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

func checkSend(request *a2a.SendMessageRequest) error {
	switch message := request.Message; {
	case message == nil:
		return invalidParams("message is required")
	case message.ID == "":
		return invalidParams("message.messageId is required")
	case message.Role != a2a.MessageRoleUser:
		return invalidParams("message.role must be ROLE_USER")
	}
	for i, part := range request.Message.Parts {
		if part == nil || part.Content == nil {
			return invalidParams("message.parts[%d] must have one of text, raw, url and data", i)
		}
	}
	cfg := request.Config
	if cfg == nil {
		return nil
	}
	readable := func(mode string) bool {
		return mode == "text/plain" || mode == "application/json" || strings.HasSuffix(mode, "/*")
	}
	if len(cfg.AcceptedOutputModes) > 0 && !slices.ContainsFunc(cfg.AcceptedOutputModes, readable) {
		return a2a.NewError(a2a.ErrUnsupportedContentType, "answers are text/plain and application/json")
	}
	return checkHistory("configuration.historyLength", cfg.HistoryLength)
}

func checkTask(id a2a.TaskID, history *int) error {
	if id == "" {
		return invalidParams("id is required")
	}
	return checkHistory("historyLength", history)
}

func checkHistory(field string, length *int) error {
	if length != nil && *length < 0 {
		return invalidParams("%s must not be negative", field)
	}
	return nil
}

func checkList(request *a2a.ListTasksRequest) error {
	if request.PageSize < 0 || request.PageSize > maxPageSize {
		return invalidParams("pageSize must be from 1 to %d", maxPageSize)
	}
	if _, known := a2apb.TaskState_value[request.Status.String()]; !known {
		return invalidParams("status must be the name of a task's state, such as %s", a2a.TaskStateWorking)
	}
	return checkHistory("historyLength", request.HistoryLength)
}
