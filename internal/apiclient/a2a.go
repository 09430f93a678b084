package apiclient

import "fmt"

// TaskNotFound is the code of an RPCError for a task that there is not.
const TaskNotFound = -32001

// RPCError is an agent's answer that says no.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("the agent says no: %s", e.Message) }
