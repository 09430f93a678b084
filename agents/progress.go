package agents

import (
	"cmp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

// NewProgress returns a function that converts the events of a run of either agent to
// progress. It takes all events once, in order; or the task that they result in.
func NewProgress(question string) func(event a2a.Event) []domain.Progress {
	p := progress{question: question}
	return p.convert
}

// progress is the state of the conversion.
type progress struct {
	question string
	planning bool
	// steps is the number of steps of the plan, begun and done how many have started and
	// ended.
	steps, begun, done int
	query              *a2a.Artifact
}

func (p *progress) convert(event a2a.Event) []domain.Progress {
	switch event := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return p.status(event.Status)
	case *a2a.TaskArtifactUpdateEvent:
		return p.artifact(event.Artifact)
	case *a2a.Task:
		var reports []domain.Progress
		for _, artifact := range event.Artifacts {
			reports = append(reports, p.artifact(artifact)...)
		}
		return append(reports, p.status(event.Status)...)
	}
	return nil
}

func (p *progress) status(status a2a.TaskStatus) []domain.Progress {
	if reason := failureOf(status); reason != "" {
		return []domain.Progress{failed(status, reason)}
	}
	if input := InputOf(status); input != nil {
		return []domain.Progress{{Kind: domain.InputRequired, Input: input}}
	}
	if status.State != a2a.TaskStateWorking {
		return nil
	}
	if status.Message == nil {
		if p.planning {
			return nil
		}
		p.planning = true
		return []domain.Progress{{Kind: domain.PlanningStarted}}
	}
	if plan, ok := ReadPlan(status.Message); ok {
		p.steps = len(plan.Steps)
		return []domain.Progress{{Kind: domain.Planned, Steps: plan.Steps, Reasoning: plan.Reasoning}}
	}
	return p.begin(readText(status.Message.Parts))
}

// failed reports the failure of a run. Some fail for want of something that may be there later.
func failed(status a2a.TaskStatus, reason string) domain.Progress {
	var data struct{ Code, Query string }
	switch {
	case status.State == a2a.TaskStateCanceled:
		data.Code = codeCanceled
	case status.Message != nil:
		readData(status.Message.Parts, &data)
	}
	return domain.Progress{
		Kind: domain.RunHasFailed, Text: reason, Code: cmp.Or(data.Code, codeInternal), Query: data.Query,
		Unavailable: data.Code == codeModel || data.Code == codeUnavailable,
	}
}

// begin reports the next step.
func (p *progress) begin(instruction string) []domain.Progress {
	index, step := p.begun, domain.Step{Instruction: instruction}
	p.begun++
	return []domain.Progress{
		{Kind: domain.StepStarted, Index: index, Step: step},
		{Kind: domain.QueryExecuting, Index: index, Step: step},
	}
}

func (p *progress) artifact(artifact *a2a.Artifact) []domain.Progress {
	switch id := string(artifact.ID); {
	case id == GeneratedQuery:
		p.query, p.steps = artifact, 1
		plan := domain.Progress{Kind: domain.Planned, Steps: []string{p.question}, Reasoning: ReadStep(artifact).Reasoning}
		return append([]domain.Progress{plan}, p.begin(p.question)...)
	case id == ResultData:
		return append(p.end(queryStep(p.query, artifact, p.question), artifact), domain.Progress{Kind: domain.Answered, Text: readText(artifact.Parts)})
	case id == AnswerText:
		return []domain.Progress{{Kind: domain.Answered, Text: readText(artifact.Parts)}}
	case strings.HasPrefix(id, stepPrefix):
		return p.end(ReadStep(artifact), artifact)
	}
	return nil
}

// end reports that a step, whose rows are in an artifact, is done and, after the last, that
// the answer is next.
func (p *progress) end(step llm.Step, rows *a2a.Artifact) []domain.Progress {
	reports := []domain.Progress{{Kind: domain.StepDone, Index: p.done, Step: reportedStep(step, rows)}}
	if p.done++; p.done == p.steps {
		reports = append(reports, domain.Progress{Kind: domain.AnswerStarted})
	}
	return reports
}

// LastNode names the step that a run reached with an event; "" for no new one.
func LastNode(event a2a.Event) string {
	switch event := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		if event.Status.State != a2a.TaskStateWorking {
			return ""
		}
		if event.Status.Message == nil {
			return "planning"
		}
		if _, ok := ReadPlan(event.Status.Message); ok {
			return "plan"
		}
	case *a2a.TaskArtifactUpdateEvent:
		return string(event.Artifact.ID)
	}
	return ""
}
