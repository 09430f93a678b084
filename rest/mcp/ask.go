package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/domain"
	"parley/internal/locale"
)

type askInput struct {
	Question       string      `json:"question" jsonschema:"the question in words; with run_id, the answer to what that run asks: the id of an option, or a text"`
	Namespace      string      `json:"namespace,omitempty" jsonschema:"the data that the question is about: the name of a namespace, or owner/name; by default it is found by the question"`
	ConversationID runID       `json:"conversation_id,omitempty" jsonschema:"for a follow-up question, the conversation of the previous one"`
	RunID          runID       `json:"run_id,omitempty" jsonschema:"answers what this run asks (status needs_input)"`
	NeverAsk       bool        `json:"never_ask,omitempty" jsonschema:"take the most likely meaning instead of asking back"`
	MinConfidence  *confidence `json:"min_confidence,omitempty" jsonschema:"the least confidence of an answer"`
	waitInput
}

type getInput struct {
	RunID runID `json:"run_id"`
	waitInput
}

type waitInput struct {
	WaitSeconds *waitSeconds `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the answer before the status is working; 25 by default"`
	Limit       rowLimit     `json:"limit,omitempty" jsonschema:"how many rows of each step to return at most, 50 by default"`
}

// answer is the state of a run.
type answer struct {
	Status         status   `json:"status"`
	RunID          string   `json:"run_id,omitempty"`
	ConversationID string   `json:"conversation_id,omitempty"`
	Answer         string   `json:"answer,omitempty" jsonschema:"the answer in Markdown"`
	Steps          []step   `json:"steps,omitempty" jsonschema:"the queries that the answer is from, and their rows"`
	NeedsInput     *input   `json:"needs_input,omitempty" jsonschema:"what the run asks the user"`
	Failed         *failure `json:"failed,omitempty" jsonschema:"why there is no answer"`
}

type step struct {
	stepFacts
	table
	Chart any `json:"chart,omitempty" jsonschema:"a Vega-Lite specification; its data named rows are the rows, as objects by column"`
}

// stepFacts are as the result of a run has them.
type stepFacts struct {
	Instruction  string               `json:"instruction"`
	Query        string               `json:"query,omitempty"`
	Reasoning    string               `json:"reasoning,omitempty"`
	Units        map[string]string    `json:"units,omitempty" jsonschema:"the units of numbers, by column"`
	Measure      string               `json:"measure,omitempty" jsonschema:"the last column, if it was not asked for and shows by what the first rows were selected"`
	Verified     bool                 `json:"verified,omitempty" jsonschema:"whether an editor has verified the query for this question"`
	Confidence   float64              `json:"confidence,omitempty"`
	Certainty    string               `json:"certainty,omitempty" jsonschema:"sure or likely"`
	Alternatives []domain.InputOption `json:"alternatives,omitempty" jsonschema:"other meanings of the question"`
}

type input struct {
	Question string               `json:"question"`
	Options  []domain.InputOption `json:"options" jsonschema:"the possible answers; none if any text is"`
}

// failure says why there is no result. As an error, it is one for the client.
type failure struct {
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Query  string `json:"query,omitempty" jsonschema:"the query that failed"`
}

func (f *failure) Error() string { return f.Code + ": " + f.Reason }

func (s *Server) ask(ctx context.Context, caller domain.Caller, request *sdk.CallToolRequest, in askInput) (*sdk.CallToolResult, answer, error) {
	id, text, err := string(in.RunID), in.Question, error(nil)
	if state := request.Params.RequestState; idPattern.MatchString(state) {
		if id, text = state, elicited(request); text == "" { // declined
			return s.report(ctx, caller, nil, id, in.waitInput)
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	if id != "" {
		err = s.cfg.Agents.Answer(limited, caller, id, text)
	} else {
		id, err = s.start(limited, caller, in)
	}
	if err != nil {
		return s.reportError(ctx, err)
	}
	return s.report(ctx, caller, request, id, in.waitInput)
}

// start starts a run.
func (s *Server) start(ctx context.Context, caller domain.Caller, in askInput) (id string, err error) {
	question := domain.Question{
		Agent: s.cfg.Agent, Text: in.Question, ConversationID: string(in.ConversationID), NeverAsk: in.NeverAsk,
		MinConfidence: (*float64)(in.MinConfidence), Locale: locale.From(ctx),
	}
	if problem := domain.CheckQuestion(in.Question); problem != "" {
		return "", domain.Invalid(domain.FieldError{Field: "question", Message: problem})
	}
	if in.Namespace != "" {
		if question.Namespace, err = readNamespace(caller, in.Namespace); err != nil {
			return "", err
		}
	}
	started, err := s.cfg.Agents.Ask(ctx, caller, question)
	return started.RunID, err
}

func (s *Server) getAnswer(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in getInput) (*sdk.CallToolResult, answer, error) {
	return s.report(ctx, caller, nil, string(in.RunID), in.waitInput)
}

type cancelInput struct {
	RunID runID `json:"run_id"`
}

func (s *Server) cancelRun(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in cancelInput) (*sdk.CallToolResult, answer, error) {
	if err := s.cfg.Agents.Stop(ctx, caller, string(in.RunID)); err != nil {
		return s.reportError(ctx, err)
	}
	return s.report(ctx, caller, nil, string(in.RunID), waitInput{WaitSeconds: new(waitSeconds)})
}

type feedbackInput struct {
	RunID    runID  `json:"run_id"`
	ThumbsUp bool   `json:"thumbs_up" jsonschema:"whether the answer is right"`
	Comment  string `json:"comment,omitempty" jsonschema:"what the user says about it"`
}

type feedbackOutput struct {
	Recorded bool `json:"recorded"`
}

func (s *Server) giveFeedback(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in feedbackInput) (*sdk.CallToolResult, feedbackOutput, error) {
	if problem := domain.CheckComment(in.Comment); problem != "" {
		return nil, feedbackOutput{}, domain.Invalid(domain.FieldError{Field: "comment", Message: problem})
	}
	err := s.cfg.Rate(ctx, caller, domain.Rating{RunID: string(in.RunID), ThumbsUp: in.ThumbsUp, Comment: in.Comment})
	return shortText("Recorded."), feedbackOutput{Recorded: err == nil}, err
}

// reportError returns a failed answer.
func (s *Server) reportError(ctx context.Context, err error) (*sdk.CallToolResult, answer, error) {
	out := answer{Status: failed, Failed: s.fail(ctx, "question", err)}
	return failedText(out.text()), out, nil
}

// report waits for a run and returns its state. It asks the client what the run asks, if a request
// is given whose client can answer.
func (s *Server) report(ctx context.Context, caller domain.Caller, request *sdk.CallToolRequest, id string, wait waitInput) (*sdk.CallToolResult, answer, error) {
	seconds, limit := waitSeconds(defaultWait), int(cmp.Or(wait.Limit, defaultRows))
	if wait.WaitSeconds != nil {
		seconds = *wait.WaitSeconds
	}
	out, err := s.read(ctx, caller, id, limit)
	if err == nil && out.Status == working && seconds > 0 {
		if err = s.wait(ctx, caller, id, time.Duration(seconds)*time.Second); err == nil {
			out, err = s.read(ctx, caller, id, limit)
		}
	}
	switch {
	case err != nil:
		return s.reportError(ctx, err)
	case out.Status == needsInput && canElicit(request):
		return elicitation(id, *out.NeedsInput), answer{}, nil
	case out.Status == failed && out.Failed.Code != "CANCELED":
		return failedText(out.text()), out, nil
	}
	return shortText(out.text()), out, nil
}

// wait waits until a run ends or asks, or a time is over.
func (s *Server) wait(ctx context.Context, caller domain.Caller, id string, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, err := range s.cfg.Agents.Follow(limited, caller, id) {
		if err != nil && (limited.Err() == nil || ctx.Err() != nil) {
			return fmt.Errorf("follow run: %w", err)
		}
	}
	return nil
}

// read returns the state of a run.
func (s *Server) read(ctx context.Context, caller domain.Caller, id string, limit int) (answer, error) {
	run, release, err := s.cfg.Run(ctx, caller, id)
	if err != nil {
		return answer{}, err
	}
	defer release()
	out := answer{Status: working, RunID: run.ID, ConversationID: run.ConversationID}
	switch {
	case run.Status == domain.RunCompleted:
		out.Status = completed
		return out, out.readResult(run.Result, limit)
	case run.Status.Final():
		out.Status, out.Failed = failed, &failure{Code: strings.ToUpper(string(run.Status)), Reason: cmp.Or(run.ErrorMessage, string(run.Status))}
		for progress, err := range s.cfg.Agents.Follow(ctx, caller, run.ID) {
			if err != nil {
				return out, fmt.Errorf("follow run: %w", err)
			}
			if progress.Kind == domain.RunHasFailed {
				out.Failed.Code, out.Failed.Query = progress.Code, progress.Query
			}
		}
		return out, nil
	}
	asked, err := s.cfg.Agents.Input(ctx, caller, id)
	if asked != nil {
		out.Status, out.NeedsInput = needsInput, &input{Question: asked.Question, Options: append([]domain.InputOption{}, asked.Options...)}
	}
	return out, err
}

// readResult adds the result of a completed run.
func (a *answer) readResult(result json.RawMessage, limit int) error {
	var read struct {
		Response string
		Steps    []struct {
			stepFacts
			Data      []json.RawMessage
			Truncated bool
			TotalRows int64
			Columns   []string
			Chart     json.RawMessage
		}
	}
	if err := json.Unmarshal(result, &read); err != nil {
		return fmt.Errorf("read the result of run %s: %w", a.RunID, err)
	}
	a.Answer = read.Response
	bytes := maxBytes
	for _, r := range read.Steps {
		rows := newTable(domain.QueryResult{Rows: r.Data, Truncated: r.Truncated, Total: r.TotalRows}, r.Columns, limit, &bytes)
		made := step{stepFacts: r.stepFacts, table: rows}
		switch {
		case len(r.Chart) > maxChart:
			made.Truncated = true
		case len(r.Chart) > 0:
			made.Chart = r.Chart
		}
		a.Steps = append(a.Steps, made)
	}
	return nil
}

// text is the answer for a client that does not read the structured result.
func (a answer) text() string {
	switch a.Status {
	case completed:
		text := a.Answer
		if last := len(a.Steps) - 1; last >= 0 && a.Steps[last].Query != "" {
			text += "\n\n" + a.Steps[last].text() + "\n\nQuery: " + a.Steps[last].Query
		}
		return text + "\n\nrun_id: " + a.RunID + ", conversation_id: " + a.ConversationID
	case needsInput:
		return (domain.Input{Question: a.NeedsInput.Question, Options: a.NeedsInput.Options}).Text() +
			"\nCall ask with run_id " + a.RunID + " and the answer as the question."
	case failed:
		return a.Failed.Error()
	}
	return "The question is being answered. Call get_answer with run_id " + a.RunID + "."
}

const (
	// roundTripVersion is the first version in which a result can ask the client, which then
	// repeats its call with the answer. Older ones need a session for it.
	roundTripVersion = "2026-07-28"
	// answerField is the name of what a client is asked for.
	answerField = "answer"
)

// canElicit reports whether the client of a request can ask its user with a form.
func canElicit(request *sdk.CallToolRequest) bool {
	if request == nil || request.ProtocolVersion() < roundTripVersion {
		return false
	}
	can := request.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// elicitation asks the client what a run asks. The client repeats its call with the answer and the
// id of the run.
func elicitation(id string, asked input) *sdk.CallToolResult {
	property := map[string]any{"type": "string", "title": "Answer"}
	if len(asked.Options) > 0 {
		choices := make([]map[string]string, len(asked.Options))
		for i, option := range asked.Options {
			choices[i] = map[string]string{"const": option.ID, "title": option.Label}
		}
		property["oneOf"] = choices
	}
	return &sdk.CallToolResult{
		RequestState: id,
		InputRequests: sdk.InputRequestMap{answerField: &sdk.ElicitParams{Mode: "form", Message: asked.Question, RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{answerField: property}, "required": []string{answerField},
		}}},
	}
}

// elicited returns what the user answered to an elicitation; "" for nothing.
func elicited(request *sdk.CallToolRequest) string {
	response, ok := request.Params.InputResponses[answerField].(*sdk.ElicitResult)
	if !ok || response.Action != "accept" {
		return ""
	}
	text, _ := response.Content[answerField].(string)
	return text
}
