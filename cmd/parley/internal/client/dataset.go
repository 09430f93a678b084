package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/internal/domain"
)

// rowsQuery returns the parameters for the first rows of a dataset.
func rowsQuery(rows int, sort string, descending bool) string {
	values := url.Values{"limit": {strconv.Itoa(rows)}}
	if sort != "" {
		values.Set("sort", sort)
	}
	if descending {
		values.Set("order", "desc")
	}
	return values.Encode()
}

// Describe is `parley describe DATASET`.
type Describe struct {
	Dataset string `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	outputSettings
	connectionSettings
}

// Run prints what the dataset is and its columns.
func (d *Describe) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	if c.NotEmpty("DATASET", d.Dataset); c.Err() != nil {
		return c.Err()
	}
	return (&Datasets{Which: d.Dataset, outputSettings: d.outputSettings, connectionSettings: d.connectionSettings}).Run(ctx, env)
}

// Rename is `parley rename DATASET NAME`.
type Rename struct {
	Dataset string `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	Name    string `arg:"" help:"Its new name, without the namespace."`
	connectionSettings
}

// Run renames the dataset.
func (r *Rename) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	ref, err := apiclient.ParseDataset(r.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	if problem := domain.CheckName(r.Name); problem != "" {
		c.Add("NAME " + problem)
	}
	client, err := r.connect(c)
	if err != nil {
		return err
	}
	if err := client.CallText(ctx, http.MethodPost, ref.Path("/data")+"/rename", r.Name); err != nil {
		return fmt.Errorf("rename %s: %w", ref, err)
	}
	renamed := ref
	renamed.Name = r.Name
	fmt.Fprintf(env.Stdout, "%s is %s now.\n", ref, renamed)
	return nil
}

// Delete is `parley delete DATASET`.
type Delete struct {
	Dataset string `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	Yes     bool   `env:"-" short:"y" help:"Do not ask for confirmation."`
	connectionSettings
}

// Run deletes the dataset, after a question on a terminal.
func (d *Delete) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	ref, err := apiclient.ParseDataset(d.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	if !d.Yes && !term.IsTerminal(int(os.Stdin.Fd())) {
		c.Refuse("yes", "is needed where nobody can be asked")
	}
	client, err := d.connect(c)
	if err != nil {
		return err
	}
	var found datasetView
	if err := client.Call(ctx, http.MethodGet, ref.Path("/data"), nil, &found); err != nil {
		return fmt.Errorf("look for %s: %w", ref, err)
	}
	if !d.Yes {
		fmt.Fprintf(env.Stderr, "Delete %s with %s? This cannot be undone. [y/N] ", ref, plural(int(found.Metadata.RowCount), "row"))
		answered := make(chan string, 1)
		go func() {
			answer, _ := bufio.NewReader(os.Stdin).ReadString('\n') // "" is no
			answered <- answer
		}()
		select {
		case <-ctx.Done():
			return command.ErrInterrupted
		case answer := <-answered:
			if word := strings.ToLower(strings.TrimSpace(answer)); word != "y" && word != "yes" {
				return errors.New("nothing was deleted")
			}
		}
	}
	if err := client.Call(ctx, http.MethodDelete, ref.Path("/data"), nil, nil); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	fmt.Fprintf(env.Stdout, "%s is deleted.\n", ref)
	return nil
}
