package a2aserver

import (
	"fmt"
	"math"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// checkValues refuses values in a request that could be stored and not be read again:
// gRPC has numbers that JSON has not, and readers of JSON limit its nesting.
func checkValues(request *a2a.SendMessageRequest) error {
	if problem := checkValue(request.Metadata, maxDepth); problem != "" {
		return invalidField("metadata", "%s", problem)
	}
	if problem := checkValue(request.Message.Metadata, maxDepth); problem != "" {
		return invalidField("message.metadata", "%s", problem)
	}
	for i, part := range request.Message.Parts {
		problem := checkValue(part.Metadata, maxDepth)
		if data, ok := part.Content.(a2a.Data); ok && problem == "" {
			problem = checkValue(data.Value, maxDepth)
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
