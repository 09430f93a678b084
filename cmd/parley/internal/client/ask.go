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
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
	"parley/internal/near"
)

// Ask is `parley ask QUESTION`.
type Ask struct {
	Question      []string `arg:"" optional:"" help:"The question. Without it, or with -, read it from standard input."`
	Agent         string   `env:"-" default:"assistant" enum:"assistant,nl2ql" placeholder:"NAME" help:"The agent: assistant answers in words, nl2ql returns rows (${default})."`
	Namespace     string   `short:"n" placeholder:"NAME" help:"The data to ask about: one of your namespaces, or owner/namespace. Optional if you can read only one."`
	Attach        []string `env:"-" sep:"none" placeholder:"FILE" help:"Send a file with the question: it becomes a dataset of the conversation. Repeatable."`
	Context       string   `env:"-" placeholder:"ID" help:"Continue this conversation."`
	Provider      string   `placeholder:"NAME" help:"The provider of the language model, if the server has several."`
	Model         string   `placeholder:"NAME" help:"The language model, if the server has several."`
	NeverAsk      bool     `env:"-" help:"Use the more likely meaning of the question instead of asking which one you mean."`
	MinConfidence float64  `env:"-" type:"confidence" default:"0.4" placeholder:"NUMBER" help:"The least confidence of an answer, from 0 to 1 (${default}). Answers below 0.7 are marked as likely."`
	Follow        bool     `env:"-" help:"Ask several questions in one conversation, at a prompt or line by line."`
	Verbose       bool     `env:"-" short:"v" help:"Also print the queries and how the question was read."`
	JSON          bool     `env:"-" name:"json" help:"Print the answer, its steps and their rows as one line of JSON."`
	connectionSettings
}

// Run asks one question, or a sequence. The answer goes to standard output, the steps to
// standard error.
func (a *Ask) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	if _, err := uuid.Parse(a.Context); a.Context != "" && err != nil {
		c.Refuse("context", "must be the id of a conversation, not %q", a.Context)
	}
	files := a.files(c)
	if len(a.Question) == 0 && !a.Follow && term.IsTerminal(int(os.Stdin.Fd())) {
		c.Add("QUESTION is missing: say what to ask, or --follow")
	}
	client, err := a.connect(c)
	if usage := c.Err(); usage != nil {
		return usage
	}
	s := &askSession{
		client: client, env: env, json: a.JSON, verbose: a.Verbose,
		question: apiclient.Question{Namespace: a.Namespace, ContextID: a.Context, Provider: a.Provider, Model: a.Model, NeverAsk: a.NeverAsk, MinConfidence: &a.MinConfidence, Files: files},
	}
	text := strings.Join(a.Question, " ")
	if err == nil && !a.Follow {
		if text, err = a.text(); err != nil {
			return err
		}
	}
	if err == nil {
		s.agent = client.Agent(a.Agent)
		err = s.chooseNamespace(ctx, text)
	}
	switch {
	case err != nil:
		return s.report(&apiclient.Task{}, err)
	case a.Follow:
		return s.follow(ctx, text)
	}
	return s.ask(ctx, text)
}

// maxQuestion is more than any server accepts.
const maxQuestion = 1 << 20

// text returns the question, from the arguments or standard input.
func (a *Ask) text() (string, error) {
	text := strings.Join(a.Question, " ")
	if text == "" || text == "-" {
		return readText("QUESTION", os.Stdin)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", command.UsageError{"QUESTION is empty"}
	}
	return text, nil
}

// readText reads an argument of a command.
func readText(argument string, from io.Reader) (string, error) {
	read, err := io.ReadAll(io.LimitReader(from, maxQuestion+1))
	text := strings.TrimSpace(string(read))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", argument, err)
	case len(read) > maxQuestion:
		return "", command.UsageError{fmt.Sprintf("%s is longer than %d bytes", argument, maxQuestion)}
	case text == "":
		return "", command.UsageError{argument + " is empty"}
	}
	return text, nil
}

// maxAttached is more than any server accepts, in bytes.
const maxAttached = 64 << 20

func (a *Ask) files(c *command.Checker) (read []apiclient.AttachedFile) {
	if len(a.Attach) > domain.MaxMessageAttachments {
		c.Refuse("attach", "can name at most %d files", domain.MaxMessageAttachments)
		return nil
	}
	files, err := apiclient.OpenFiles(a.Attach)
	if err != nil {
		c.Refuse("attach", "cannot be used: %v", err)
		return nil
	}
	defer apiclient.CloseFiles(files)
	var size int64
	for _, file := range files {
		if size += file.Size; size > maxAttached {
			c.Refuse("attach", "has more than %s: %s", console.Bytes(maxAttached), loadInstead)
			return nil
		}
		content, err := io.ReadAll(file.File())
		if err != nil {
			c.Refuse("attach", "cannot be used: %v", err)
		}
		read = append(read, apiclient.AttachedFile{Name: file.File().Name, Content: content})
	}
	return read
}

// loadInstead is what to do with a file that is too large for a question.
const loadInstead = "load large files with `parley ingest FILE --dataset NAMESPACE/NAME`, then ask"

// chooseNamespace chooses the only namespace if none is given. In a conversation, with files, and
// if the text names one of several or the server must not ask, the server knows what a question
// without one is about.
func (s *askSession) chooseNamespace(ctx context.Context, text string) error {
	if s.question.ContextID != "" || len(s.question.Files) > 0 {
		return nil
	}
	namespace, err := onlyNamespace(ctx, s.env, s.client, s.question.Namespace)
	if usage, ok := errors.AsType[command.UsageError](err); ok {
		all, err := namespaces(ctx, s.client)
		if err == nil && !s.question.NeverAsk && !slices.ContainsFunc(all, func(name string) bool { return isNamed(text, name) }) {
			err = usage
		}
		return err
	}
	if err == nil && s.question.Namespace == "" {
		s.note("asking about %s", namespace)
	}
	s.question.Namespace = namespace
	return err
}

// isNamed reports whether the text of a question names a namespace.
func isNamed(text, namespace string) bool {
	owner, name, _ := strings.Cut(namespace, "/")
	_, ok := domain.FindAddress(domain.Caller{Username: owner}, text, []domain.NamespaceRef{{Owner: owner, Name: name}})
	return ok
}

// inNamespace is the flag of the question's namespace in a command.
func (s *askSession) inNamespace() string {
	if s.question.Namespace == "" {
		return ""
	}
	return " --namespace " + s.question.Namespace
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

// explain says what to do about a refused question.
func (s *askSession) explain(ctx context.Context, err error) error {
	var refused *apiclient.RPCError
	switch {
	case apiclient.Status(err) == http.StatusRequestEntityTooLarge && len(s.question.Files) > 0:
		return fmt.Errorf("%w: %s", err, loadInstead)
	case errors.As(err, &refused) && refused.Code == apiclient.InvalidParams && strings.Contains(refused.Message, "namespace not found"):
		return explainNamespace(ctx, s.client, s.question.Namespace, err)
	}
	return err
}

// explainNamespace adds similar namespaces, or all, to the error for one that is not found.
func explainNamespace(ctx context.Context, client *apiclient.Client, namespace string, err error) error {
	all, listErr := namespaces(ctx, client)
	switch {
	case listErr != nil:
		return err
	case len(all) == 0:
		return command.NotFoundError("there is no namespace " + namespace + ", nor any other that you may read")
	}
	if similar := similarNamespaces(namespace, all); len(similar) > 0 {
		return command.NotFoundError("there is no namespace " + namespace + " that you may read; did you mean " + strings.Join(similar, " or ") + "?")
	}
	return command.NotFoundError("there is no namespace " + namespace + " that you may read; there are " + strings.Join(all, ", "))
}

// maxSimilar is how many similar names an error has.
const maxSimilar = 3

// similarNamespaces returns those of namespaces, as owner/namespace, that have the name, else
// those with a similar one.
func similarNamespaces(namespace string, all []string) (similar []string) {
	_, name, qualified := strings.Cut(namespace, "/")
	if !qualified {
		name = namespace
	}
	bare := func(one string) string { return one[strings.Index(one, "/")+1:] }
	names := []string{name}
	if !slices.ContainsFunc(all, func(one string) bool { return strings.EqualFold(bare(one), name) }) {
		var candidates []string
		for _, one := range all {
			candidates = append(candidates, bare(one))
		}
		names = near.Names(name, candidates, maxSimilar)
	}
	for _, one := range all {
		if len(similar) < maxSimilar && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(bare(one), name) }) {
			similar = append(similar, one)
		}
	}
	return similar
}
