package apiclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// StatusError is an answer that says no.
type StatusError struct {
	// Status is HTTP's, Code the interface's own, "" when the answer has none.
	Status int
	Code   string
	// Message says why, in the server's words.
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server says %d: %s", e.Status, e.Message)
}

// refusal reads an answer that says no: the interface's own, or anything else,
// for something in between may have said it.
func refusal(status int, answer []byte) *StatusError {
	var said struct {
		ErrorCode    string `json:"error_code"`
		Message      string `json:"message"`
		ErrorMessage string `json:"error_message"`
		SubErrors    []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"sub_errors"`
	}
	refused := &StatusError{Status: status, Message: http.StatusText(status)}
	if json.Unmarshal(answer, &said) != nil {
		return refused
	}
	refused.Code = said.ErrorCode
	refused.Message = cmp.Or(said.ErrorMessage, said.Message, refused.Message)
	var wrong []string
	for _, field := range said.SubErrors {
		wrong = append(wrong, field.Code+" "+field.Message)
	}
	if len(wrong) > 0 {
		refused.Message += ": " + strings.Join(wrong, "; ")
	}
	return refused
}
