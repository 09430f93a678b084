package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/internal/jsontext"
	"parley/llm"
)

// The artifacts, by id and name.
const (
	GeneratedQuery = "generated-query"
	ResultData     = "result-data"
	AnswerText     = "answer"
	stepPrefix     = "step-"
)

// StepName names the artifact of a step, counted from 0.
func StepName(index int) string { return fmt.Sprint(stepPrefix, index) }

// result is the rendered result of a completed run.
type result struct {
	Response string       `json:"response"`
	Steps    []resultStep `json:"steps"`
}

type resultStep struct {
	Instruction string            `json:"instruction"`
	Query       string            `json:"query"`
	Reasoning   string            `json:"reasoning"`
	Data        []json.RawMessage `json:"data"`
	Truncated   bool              `json:"truncated,omitempty"`
	Total       int64             `json:"totalRows,omitempty"`
	Columns     []string          `json:"columns,omitempty"`
	Chart       any               `json:"chart,omitempty"`
	Units       map[string]string `json:"units,omitempty"`
	Measure     string            `json:"measure,omitempty"`
	Verified    bool              `json:"verified,omitempty"`
	VerifiedBy  string            `json:"verifiedBy,omitempty"`
	Sources     []domain.Source   `json:"sources,omitempty"`

	Confidence   float64              `json:"confidence,omitempty"`
	Certainty    string               `json:"certainty,omitempty"`
	Alternatives []domain.InputOption `json:"alternatives,omitempty"`
}

// Result renders a completed task of either agent for readers of runs.
func Result(task *a2a.Task) (json.RawMessage, error) {
	rendered := result{Response: Response(task), Steps: []resultStep{}}
	if data := artifact(task, ResultData); data != nil {
		rendered.add(queryStep(artifact(task, GeneratedQuery), data, question(task)), data)
	} else if artifact(task, AnswerText) != nil {
		for _, artifact := range task.Artifacts {
			if strings.HasPrefix(string(artifact.ID), stepPrefix) {
				rendered.add(ReadStep(artifact), artifact)
			}
		}
	} else {
		return nil, errors.New("render a result: the task has no answer")
	}
	return jsontext.Marshal(rendered)
}

// add adds a step whose rows are in an artifact.
func (r *result) add(step llm.Step, rows *a2a.Artifact) {
	r.Steps = append(r.Steps, resultStep(reportedStep(step, rows)))
}

// reportedStep returns a step, whose rows are in an artifact, for readers of runs.
func reportedStep(step llm.Step, rows *a2a.Artifact) domain.Step {
	reported := domain.Step{
		Instruction: step.Instruction, Query: step.Query, Reasoning: step.Reasoning, Data: listed(step.Rows.Rows), Truncated: step.Rows.Truncated, Total: step.Rows.Total,
		Chart: rows.Metadata["chart"], Units: step.Rows.Units, Measure: step.Rows.Measure, Verified: isVerified(rows),
	}
	reported.VerifiedBy, _ = rows.Metadata["verifiedBy"].(string)
	_ = decode(rows.Metadata["sources"], &reported.Sources) // none if there are none
	reported.Confidence, reported.Alternatives = readCertainty(rows.Metadata)
	reported.Certainty = certainty(reported.Confidence)
	if len(step.Rows.Rows) == 0 {
		reported.Columns = step.Rows.Columns
	}
	return reported
}

// Response returns the answer of a task of either agent; "" when there is none.
func Response(task *a2a.Task) string {
	for _, name := range []string{ResultData, AnswerText} {
		if response := artifact(task, name); response != nil {
			return readText(response.Parts)
		}
	}
	return ""
}

// listed makes nil rows encode as [].
func listed(rows []json.RawMessage) []json.RawMessage {
	if rows == nil {
		return []json.RawMessage{}
	}
	return rows
}

// queryStep returns the one step of nl2ql, whose query and rows are separate artifacts.
func queryStep(query, data *a2a.Artifact, question string) llm.Step {
	var step llm.Step
	if query != nil {
		step = ReadStep(query)
	}
	step.Instruction, step.Rows = question, readRows(data)
	return step
}

// Failure says why a task ended without an answer; "" when it did not.
func Failure(task *a2a.Task) string { return failureOf(task.Status) }

func failureOf(status a2a.TaskStatus) string {
	switch {
	case status.State == a2a.TaskStateCanceled:
		return "canceled"
	case status.State != a2a.TaskStateFailed && status.State != a2a.TaskStateRejected:
		return ""
	case status.Message != nil:
		for _, part := range status.Message.Parts {
			if text := part.Text(); text != "" {
				return text
			}
		}
	}
	return "failed"
}

func artifact(task *a2a.Task, id string) *a2a.Artifact {
	at := slices.IndexFunc(task.Artifacts, func(a *a2a.Artifact) bool { return string(a.ID) == id })
	if at < 0 {
		return nil
	}
	return task.Artifacts[at]
}

func question(task *a2a.Task) string {
	if len(task.History) == 0 {
		return ""
	}
	return readText(task.History[0].Parts)
}

// NewPlan makes the parts of the message that holds a plan.
func NewPlan(plan llm.Plan) []*a2a.Part {
	return []*a2a.Part{a2a.NewTextPart(plan.Reasoning), newData(map[string][]string{"steps": plan.Steps})}
}

// ReadPlan reads the plan of a message. It reports false when there is none.
func ReadPlan(message *a2a.Message) (llm.Plan, bool) {
	var data struct {
		Steps []string `json:"steps"`
	}
	if !readData(message.Parts, &data) || len(data.Steps) == 0 {
		return llm.Plan{}, false
	}
	return llm.Plan{Steps: data.Steps, Reasoning: readText(message.Parts)}, true
}
