package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/term"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
)

// Ask is `parley ask QUESTION`.
type Ask struct {
	Question  []string       `arg:"" optional:"" help:"The question. Without it, or with -, read it from standard input."`
	Agent     string         `env:"-" default:"assistant" enum:"assistant,nl2ql" placeholder:"NAME" help:"The agent: assistant answers in words, nl2ql returns rows (${default})."`
	Namespace string         `short:"n" placeholder:"NAME" help:"The data to ask about: one of your namespaces, or owner/namespace. Optional if you can read only one."`
	Context   string         `env:"-" placeholder:"ID" help:"Continue this conversation."`
	Provider  string         `placeholder:"NAME" help:"The provider of the language model, if the server has several."`
	Model     string         `placeholder:"NAME" help:"The language model, if the server has several."`
	NeverAsk  command.Toggle `env:"-" help:"Use the more likely meaning of the question instead of asking which one you mean."`
	Follow    command.Toggle `env:"-" help:"Ask several questions in one conversation, at a prompt or line by line."`
	Verbose   command.Toggle `env:"-" short:"v" help:"Also print the queries."`
	JSON      command.Toggle `env:"-" name:"json" help:"Print the answer, its steps and their rows as one line of JSON."`
	connectionSettings
}

// Run asks one question, or a sequence. The answer goes to standard output, the steps to
// standard error.
func (a *Ask) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	follow, asJSON, neverAsk := c.Bool("follow", a.Follow), c.Bool("json", a.JSON), c.Bool("never-ask", a.NeverAsk)
	if _, err := uuid.Parse(a.Context); a.Context != "" && err != nil {
		c.Refuse("context", "must be the id of a conversation, not %q", a.Context)
	}
	if len(a.Question) == 0 && !follow && term.IsTerminal(int(os.Stdin.Fd())) {
		c.Add("QUESTION is missing: say what to ask, or --follow")
	}
	client, err := a.connect(c)
	if usage := c.Err(); usage != nil {
		return usage
	}
	s := &askSession{
		client: client, env: env, json: asJSON, verbose: c.Bool("verbose", a.Verbose),
		question: apiclient.Question{Namespace: a.Namespace, ContextID: a.Context, Provider: a.Provider, Model: a.Model, NeverAsk: neverAsk},
	}
	if err == nil {
		s.agent = client.Agent(a.Agent)
		err = s.chooseNamespace(ctx)
	}
	if err != nil {
		return s.report(&apiclient.Task{}, err)
	}
	if follow {
		return s.follow(ctx, strings.Join(a.Question, " "))
	}
	text, err := a.text()
	if err != nil {
		return err
	}
	return s.ask(ctx, text)
}

// maxQuestion is more than any server accepts.
const maxQuestion = 1 << 20

// text returns the question, from the arguments or standard input.
func (a *Ask) text() (string, error) {
	text := strings.Join(a.Question, " ")
	if text == "" || text == "-" {
		read, err := io.ReadAll(io.LimitReader(os.Stdin, maxQuestion+1))
		if err != nil {
			return "", fmt.Errorf("read the question: %w", err)
		}
		if len(read) > maxQuestion {
			return "", command.UsageError{fmt.Sprintf("QUESTION is longer than %d bytes", maxQuestion)}
		}
		text = string(read)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", command.UsageError{"QUESTION is empty"}
	}
	return text, nil
}

// chooseNamespace chooses the only namespace if none is given.
func (s *askSession) chooseNamespace(ctx context.Context) error {
	namespace, err := onlyNamespace(ctx, s.env, s.client, s.question.Namespace)
	if err == nil && s.question.Namespace == "" {
		s.note("asking about %s", namespace)
	}
	s.question.Namespace = namespace
	return err
}

// namespaces lists the namespaces that the user can read, as owner/namespace.
func namespaces(ctx context.Context, client *apiclient.Client) ([]string, error) {
	var found []struct{ Name, Owner string }
	if err := client.Call(ctx, http.MethodGet, "/schema/self/namespaces", nil, &found); err != nil {
		return nil, err
	}
	var names []string
	for _, n := range found {
		names = append(names, n.Owner+"/"+n.Name)
	}
	slices.Sort(names)
	return names, nil
}

// explain adds the existing namespaces to the error for an unknown one.
func (s *askSession) explain(ctx context.Context, err error) error {
	var refused *apiclient.RPCError
	if !errors.As(err, &refused) || refused.Code != apiclient.InvalidParams {
		return err
	}
	all, listErr := namespaces(ctx, s.client)
	namespace := s.question.Namespace
	known := slices.ContainsFunc(all, func(name string) bool {
		_, bare, _ := strings.Cut(name, "/")
		return strings.EqualFold(name, namespace) || strings.EqualFold(bare, namespace)
	})
	if listErr != nil || known {
		return err
	}
	if len(all) == 0 {
		return command.NotFoundError("there is no namespace " + namespace + ", nor any other that you may read")
	}
	return command.NotFoundError("there is no namespace " + namespace + " that you may read; there are " + strings.Join(all, ", "))
}
