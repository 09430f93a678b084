package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"parley/cards"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Tasks is `parley tasks [ID]`.
type Tasks struct {
	ID    *string `arg:"" optional:"" help:"A task to show."`
	Agent string  `env:"-" default:"all" enum:"all,assistant,nl2ql" placeholder:"NAME" help:"The agent whose tasks to list: assistant, nl2ql or all (${default})."`
	Limit int     `env:"-" default:"20" placeholder:"N" help:"How many tasks to list (${default})."`
	outputSettings
	connectionSettings
}

// agentNames are the agents of a server.
var agentNames = []string{cards.AssistantName, cards.NL2QLName}

// maxTasks is how many tasks can be listed at once.
const maxTasks = 1000

// Run lists the caller's tasks, or shows one.
func (t *Tasks) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	if t.Limit > maxTasks {
		c.Refuse("limit", "must be at most %d", maxTasks)
	}
	if t.ID != nil {
		c.NotEmpty("ID", *t.ID)
	}
	client, err := t.connect(c)
	if err != nil {
		return err
	}
	if t.ID != nil {
		return showTask(ctx, env, client, *t.ID, isJSON(t.format()))
	}
	from := agentNames
	if t.Agent != "all" {
		from = []string{t.Agent}
	}
	return listTasks(ctx, env, client, t.user(), from, t.Limit, t.format())
}

// taskReport is a task in a list.
type taskReport struct {
	TaskID    string    `json:"taskId"`
	ContextID string    `json:"contextId"`
	State     string    `json:"state"`
	Agent     string    `json:"agent"`
	Namespace string    `json:"namespace"`
	UpdatedAt time.Time `json:"updatedAt"`
	Question  string    `json:"question"`
}

func listTasks(ctx context.Context, env command.Env, client *apiclient.Client, user tokenUser, agents []string, limit int, format console.Format) error {
	list := []taskReport{}
	for _, name := range agents {
		tasks, err := client.Agent(name).Tasks(ctx, limit)
		if err != nil {
			return err
		}
		for _, task := range tasks {
			question := task.Question()
			list = append(list, taskReport{
				TaskID: task.ID, ContextID: task.ContextID, State: task.Status.State.String(), Agent: name, UpdatedAt: task.Status.Timestamp,
				Namespace: user.shortNamespace(question.Namespace()), Question: question.Parts.Text(),
			})
		}
	}
	slices.SortStableFunc(list, func(a, b taskReport) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	list = list[:min(len(list), limit)]
	if len(list) == 0 && format == console.FormatTable {
		fmt.Fprintln(env.Stderr, "nothing has been asked yet")
		return nil
	}
	style := console.StyleOf(env.Stdout)
	if format == console.FormatTable && style.Terminal() && style.Width < wideEnough {
		return writeTasks(env.Stdout, style, list, time.Now())
	}
	return writeList(env, format, list, taskTable(list, time.Now()))
}

// wideEnough is how wide a terminal must be for a table of tasks.
const wideEnough = 110

// writeTasks lists tasks on a narrow terminal, each in two lines.
func writeTasks(w io.Writer, style console.Style, list []taskReport, now time.Time) error {
	var b strings.Builder
	for _, r := range list {
		about := fmt.Sprintf("%-9s  %-9s  %4s  %s", r.State, r.Agent, age(now.Sub(r.UpdatedAt)), console.Line(r.Namespace))
		fmt.Fprintf(&b, "%s  %s\n  %s\n", console.Line(r.TaskID), style.Dim(about), console.Cut(console.Line(r.Question), style.Width-2))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxListed is how much of a question is listed.
const maxListed = 80

func taskTable(list []taskReport, now time.Time) console.Table {
	t := console.Table{Columns: []console.Column{
		{Name: "id", Whole: true}, {Name: "state", Whole: true}, {Name: "agent", Whole: true}, {Name: "namespace"}, {Name: "age", Right: true, Whole: true}, {Name: "question"},
	}}
	for _, r := range list {
		question := console.Cut(console.Line(r.Question), maxListed)
		t.Rows = append(t.Rows, []string{r.TaskID, r.State, r.Agent, r.Namespace, age(now.Sub(r.UpdatedAt)), question})
	}
	return t
}

// age returns a duration in its largest unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d/time.Second)))
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

// showTask shows a task as ask does. Its failure is not one of this command.
func showTask(ctx context.Context, env command.Env, client *apiclient.Client, id string, asJSON bool) error {
	var task *apiclient.Task
	err := eachAgent(client, func(agent apiclient.Agent) (err error) {
		task, err = agent.Task(ctx, id)
		return err
	})
	if err != nil {
		return err
	}
	var failed error
	if task.Status.State.Ended() {
		failed = outcome(task)
	}
	if asJSON {
		return writeJSON(env.Stdout, reportOf(task, failed))
	}
	if len(task.History) > 0 {
		fmt.Fprintf(env.Stdout, "%s\n", console.StyleOf(env.Stdout).Bold(console.Text(task.Question().Parts.Text())))
	}
	view := newAskView(env.Stdout, env.Stdout)
	view.verbose = true
	if err := view.task(task); err != nil {
		return err
	}
	status := task.Status.State.String()
	if failed != nil {
		status = failed.Error()
	}
	_, err = fmt.Fprintf(env.Stdout, "\n%s\n", console.StyleOf(env.Stdout).Dim(console.Line(status)))
	return err
}

// eachAgent tries the agents until one has the task.
func eachAgent(client *apiclient.Client, do func(apiclient.Agent) error) error {
	var err error
	for _, name := range agentNames {
		var refused *apiclient.RPCError
		err = do(client.Agent(name))
		if !errors.As(err, &refused) || refused.Code != apiclient.TaskNotFound {
			return err
		}
	}
	return err
}

// Cancel is `parley cancel TASK…`.
type Cancel struct {
	ID []string `arg:"" name:"task" help:"The tasks to cancel."`
	connectionSettings
}

// Run cancels the tasks, also when one of them fails.
func (c *Cancel) Run(ctx context.Context, env command.Env) error {
	check := env.NewChecker()
	for _, id := range c.ID {
		check.NotEmpty("TASK", id)
	}
	client, err := c.connect(check)
	if err != nil {
		return err
	}
	var failed error
	for _, id := range c.ID {
		err := eachAgent(client, func(agent apiclient.Agent) error {
			_, err := agent.Cancel(ctx, id)
			return err
		})
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("cancel %s: %w", id, err))
			continue
		}
		fmt.Fprintf(env.Stdout, "canceled %s\n", console.Line(id))
	}
	return failed
}
