package client

import (
	"fmt"
	"io"
	"strings"

	"parley/agents"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/console"
	"parley/internal/jsontext"
)

// askView shows a running task: the result to one writer, the progress to another.
type askView struct {
	result, progress           io.Writer
	resultStyle, progressStyle console.Style
	live                       console.Live
	// quiet shows only problems, verbose also the queries and how the question was read.
	quiet, verbose bool
	// disconnected says that a broken stream was reported.
	disconnected bool
	// planned, started and shown count the steps.
	planned, started, shown int
	// held is the plan, and the steps without an answer, until a step has one: those of a
	// question that is refused are not shown.
	held strings.Builder
}

// release shows what is held.
func (v *askView) release() {
	_, _ = io.WriteString(v.progress, v.held.String())
	v.held.Reset()
}

func newAskView(result, progress io.Writer) *askView {
	v := &askView{result: result, progress: progress, resultStyle: console.StyleOf(result), progressStyle: console.StyleOf(progress)}
	v.live = console.Live{W: progress, Style: v.progressStyle}
	return v
}

// broken reports a broken stream, once.
func (v *askView) broken(err error) {
	if !v.disconnected {
		v.disconnected = true
		v.live.Clear()
		fmt.Fprintf(v.progress, "reconnecting: %s\n", console.Line(err.Error()))
	}
}

func (v *askView) event(e apiclient.Event) error {
	v.disconnected = false
	if v.quiet {
		return nil
	}
	v.live.Clear()
	switch {
	case e.ArtifactUpdate != nil:
		return v.artifact(e.ArtifactUpdate.Artifact)
	case e.StatusUpdate != nil:
		return v.status(e.StatusUpdate.Status)
	case e.Task != nil:
		v.live.Set("… planning")
	}
	return nil
}

func (v *askView) status(s apiclient.TaskStatus) error {
	text, data := s.Message.Parts.Text(), s.Message.Parts.Data()
	switch {
	case s.State.Waits(): // the user is asked at the end of the stream
	case data.Code == agents.NotUnderstood:
		return console.Markdown(v.result, text, v.resultStyle)
	case s.State.Ended():
		if s.State == apiclient.Failed {
			v.release()
		}
		v.failedQuery(data.Query)
	case data.Steps != nil:
		v.plan(text, data.Steps)
	case text != "":
		v.started++
		v.live.Set(fmt.Sprintf("… step %d of %d: %s", v.started, v.planned, text))
	default:
		v.live.Set("… thinking")
	}
	return nil
}

func (v *askView) plan(reasoning string, steps []string) {
	v.planned = len(steps)
	fmt.Fprintf(&v.held, "%s %s\n", v.progressStyle.Bold("Plan:"), console.Line(reasoning))
	if len(steps) > 1 { // the result of one follows
		for i, step := range steps {
			fmt.Fprintf(&v.held, "  %d. %s\n", i+1, console.Line(step))
		}
	}
	if v.verbose {
		v.release()
	}
}

// query shows a query, indented.
func (v *askView) query(text string) {
	if text == "" {
		return
	}
	for line := range strings.Lines(strings.TrimRight(console.Text(text), "\n")) {
		fmt.Fprintf(v.progress, "  %s\n", v.progressStyle.Dim(strings.TrimRight(line, "\n")))
	}
}

// madeQuery shows a query that was run, and how its question was read.
func (v *askView) madeQuery(artifact apiclient.Artifact) {
	if v.verbose && !artifact.Unanswered() && artifact.Metadata.Reasoning != "" {
		fmt.Fprintf(v.progress, "  %s\n", console.Line(artifact.Metadata.Reasoning))
	}
	if v.verbose {
		v.query(artifact.Parts.Text())
	}
}

func (v *askView) failedQuery(text string) {
	if text != "" && v.shown > 0 {
		fmt.Fprintln(v.progress)
	}
	v.query(text)
}

func (v *askView) artifact(artifact apiclient.Artifact) error {
	switch text := artifact.Parts.Text(); artifact.ArtifactID {
	case agents.GeneratedQuery:
		v.madeQuery(artifact)
		if is := artifact.Metadata.Certainty; !v.verbose && (is.Certainty == "likely" || len(is.Alternatives) > 0) {
			fmt.Fprintln(v.progress, console.Line(artifact.Metadata.Reasoning))
		}
		v.live.Set("… running the query")
	case agents.AnswerText:
		if v.held.Len() == 0 {
			fmt.Fprintln(v.progress)
		}
		return console.Markdown(v.result, text, v.resultStyle)
	case agents.ResultData:
		if artifact.Unanswered() {
			return console.Markdown(v.result, text, v.resultStyle)
		}
		return writeRows(v.result, v.resultStyle, artifact.Parts.Data(), 0)
	default:
		v.shown++
		fmt.Fprintf(&v.held, "\n%s\n", v.progressStyle.Bold(fmt.Sprintf("%d. %s", v.shown, console.Line(artifact.Metadata.Instruction))))
		if v.verbose || !artifact.Unanswered() {
			v.release()
		}
		v.madeQuery(artifact)
		if artifact.Unanswered() {
			return nil
		}
		return writeRows(v.progress, v.progressStyle, artifact.Parts.Data(), maxStepRows)
	}
	return nil
}

// maxStepRows is how many rows of a step are shown.
const maxStepRows = 20

// writeRows prints rows, up to a limit if that is not 0, and their number.
func writeRows(w io.Writer, style console.Style, data apiclient.Data, limit int) error {
	shown := data.Rows
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
	}
	table, err := console.Rows(shown, data.Columns)
	if err != nil {
		return err
	}
	if err := table.WriteAs(w, console.FormatTable, style); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, style.Dim(rowsNote(len(shown), data)))
	return err
}

func rowsNote(shown int, data apiclient.Data) string {
	count := max(data.RowCount, len(data.Rows))
	switch rows := plural(count, "row"); {
	case data.TotalRows > 0:
		return fmt.Sprintf("(%d of %s)", shown, plural(data.TotalRows, "row"))
	case data.Truncated && shown < count:
		return fmt.Sprintf("(%d of the first %s; there are more)", shown, rows)
	case data.Truncated:
		return fmt.Sprintf("(the first %s; there are more)", rows)
	case shown < count:
		return fmt.Sprintf("(%d of %s; --json has them all)", shown, rows)
	default:
		return "(" + rows + ")"
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (v *askView) task(task *apiclient.Task) error {
	for _, artifact := range task.Artifacts {
		if err := v.artifact(artifact); err != nil {
			return err
		}
	}
	v.failedQuery(task.Status.Message.Parts.Data().Query)
	if input := inputOf(task); input != nil {
		fmt.Fprintln(v.result)
		writeInput(v.result, v.resultStyle, input)
	}
	return nil
}

// writeJSON prints a value as one line of JSON, with control characters escaped.
func writeJSON(w io.Writer, value any) error {
	text, err := jsontext.Marshal(value)
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	_, err = w.Write(append(console.JSON(text), '\n'))
	return err
}
