package client

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Completion is `parley completion SHELL`.
type Completion struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

//go:embed shells
var shells embed.FS

// Run prints the completion script of a shell. The script calls parley with CompleteWord.
func (c *Completion) Run(env command.Env) error {
	script, err := shells.ReadFile("shells/parley." + c.Shell)
	if err != nil {
		return fmt.Errorf("find the script: %w", err)
	}
	_, err = env.Stdout.Write(script)
	return err
}

// CompleteWord is the first argument of a call for completions. The others are the words
// of the command line up to the cursor, the last one unfinished.
const CompleteWord = "__complete"

// choice is a possible word and its description.
type choice struct{ word, help string }

// Complete prints the completions of the last word, each with a tab and its description.
// If there are none, the shell may propose files.
func Complete(ctx context.Context, model *kong.Application, words []string, w io.Writer) {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := splitLast(words)
	for _, c := range choices(ctx, model, before, last) {
		if strings.HasPrefix(c.word, last) {
			fmt.Fprintf(w, "%s\t%s\n", c.word, console.Line(c.help))
		}
	}
}

// splitLast splits off the word to complete. bash makes three words of --flag=value;
// the = is removed.
func splitLast(words []string) (before []string, last string) {
	words = slices.Clone(words)
	last = words[len(words)-1]
	before = words[:len(words)-1]
	if last == "=" {
		return before, ""
	}
	return slices.DeleteFunc(before, func(word string) bool { return word == "=" }), last
}

// choices returns the possible words in the place of the last one.
func choices(ctx context.Context, model *kong.Application, before []string, last string) []choice {
	at := slices.IndexFunc(before, func(word string) bool { return !strings.HasPrefix(word, "-") })
	if at < 0 {
		return slices.Concat(commandChoices(model), flagChoices(model.Flags))
	}
	index := slices.IndexFunc(model.Children, func(node *kong.Node) bool { return node.Name == before[at] })
	if index < 0 {
		return nil
	}
	node, server := model.Children[index], serverIn(before)
	if f := flagOf(node, before[len(before)-1]); f != nil && !f.IsBool() {
		return valueChoices(ctx, server, f.Value, last)
	}
	flag, value, joined := strings.Cut(last, "=")
	switch f := flagOf(node, flag); {
	case joined && f != nil:
		found := valueChoices(ctx, server, f.Value, value)
		for i := range found {
			found[i].word = flag + "=" + found[i].word
		}
		return found
	case strings.HasPrefix(last, "-"):
		return slices.Concat(flagChoices(node.Flags), flagChoices(model.Flags))
	case len(node.Positional) > 0:
		return valueChoices(ctx, server, node.Positional[0], last)
	}
	return nil
}

func commandChoices(model *kong.Application) (found []choice) {
	for _, node := range model.Children {
		if !node.Hidden {
			found = append(found, choice{node.Name, node.Help})
		}
	}
	return found
}

func flagChoices(flags []*kong.Flag) (found []choice) {
	for _, flag := range flags {
		if !flag.Hidden {
			found = append(found, choice{"--" + flag.Name, flag.Help})
		}
	}
	return found
}

// flagOf returns the flag that a word is, or nil.
func flagOf(node *kong.Node, word string) *kong.Flag {
	at := slices.IndexFunc(node.Flags, func(flag *kong.Flag) bool {
		return word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short)
	})
	if at < 0 {
		return nil
	}
	return node.Flags[at]
}

// valueChoices returns the values of a flag or an argument: fixed ones, or those that
// the server has. If none begins with a prefix, names of the user's data have no owner.
func valueChoices(ctx context.Context, server connectionSettings, value *kong.Value, prefix string) []choice {
	if words := valuesOf(value); words != nil {
		return wordChoices(words)
	}
	ask, ok := onServer[value.Name]
	if !ok {
		return nil
	}
	client, err := server.client()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	found := slices.DeleteFunc(ask(ctx, client), func(c choice) bool { return !plainWord.MatchString(c.word) })
	if !slices.ContainsFunc(found, func(c choice) bool { return strings.HasPrefix(c.word, prefix) }) {
		for i := range found {
			found[i].word = server.user().shortNamespace(found[i].word)
		}
	}
	return found
}

func wordChoices(words []string) (found []choice) {
	for _, word := range words {
		found = append(found, choice{word, ""})
	}
	return found
}

// valuesOf returns the values that a flag can have; nil for any.
func valuesOf(value *kong.Value) []string {
	switch {
	case value.Enum != "":
		return value.EnumSlice()
	case value.Flag != nil && strings.Contains(value.Flag.PlaceHolder, "|"):
		return strings.Split(value.Flag.PlaceHolder, "|")
	}
	return nil
}

// completionTimeout is how long a completion waits for the server.
const completionTimeout = time.Second

// plainWord is a word without meaning to a shell. Other words of the server could
// execute something on the command line.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./-]*$`)

// onServer gets the values of flags and arguments from the server, by name.
var onServer = map[string]func(context.Context, *apiclient.Client) []choice{
	"namespace": func(ctx context.Context, client *apiclient.Client) []choice {
		names, _ := namespaces(ctx, client)
		return wordChoices(names)
	},
	"dataset": datasetChoices,
	"which":   datasetChoices,
	"id": func(ctx context.Context, client *apiclient.Client) []choice {
		return taskChoices(ctx, client, func(apiclient.State) bool { return true })
	},
	"task": func(ctx context.Context, client *apiclient.Client) []choice {
		return taskChoices(ctx, client, func(state apiclient.State) bool { return !state.Ended() })
	},
}

// taskChoices are the latest tasks in the wanted states.
func taskChoices(ctx context.Context, client *apiclient.Client, wanted func(apiclient.State) bool) (found []choice) {
	for _, agent := range agentNames {
		tasks, _ := client.Agent(agent).Tasks(ctx, 20)
		for _, task := range tasks {
			if !wanted(task.Status.State) {
				continue
			}
			help := task.Status.State.String()
			if question := task.Question().Parts.Text(); question != "" {
				help += ": " + console.Cut(console.Line(question), maxListed)
			}
			found = append(found, choice{task.ID, help})
		}
	}
	return found
}

// serverIn returns the server that the words or the environment name.
func serverIn(words []string) connectionSettings {
	settings := connectionSettings{Server: cmp.Or(os.Getenv("PARLEY_SERVER"), "http://127.0.0.1:8080"), Token: os.Getenv("PARLEY_TOKEN")}
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok && i+1 < len(words) {
			value = words[i+1]
		}
		switch name {
		case "--server":
			settings.Server = value
		case "--token":
			settings.Token = value
		}
	}
	return settings
}

// datasetChoices are the namespaces and their datasets.
func datasetChoices(ctx context.Context, client *apiclient.Client) (found []choice) {
	var all []struct{ Name, Namespace, Owner string }
	_ = client.Call(ctx, http.MethodGet, "/schema/datasets/all", nil, &all)
	for _, d := range all {
		space := d.Owner + "/" + d.Namespace
		found = append(found, choice{space, ""}, choice{space + "/" + d.Name, ""})
	}
	slices.SortFunc(found, func(a, b choice) int { return strings.Compare(a.word, b.word) })
	return slices.Compact(found)
}
