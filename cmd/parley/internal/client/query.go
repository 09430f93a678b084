package client

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/storage"
)

// Query is `parley query SQL`.
type Query struct {
	SQL       []string `arg:"" name:"sql" help:"One SELECT statement over the datasets of the namespace."`
	Namespace string   `short:"n" placeholder:"NAME" help:"The data to query: one of your namespaces, or owner/namespace. Optional if you can read only one."`
	outputSettings
	connectionSettings
}

// Run runs the statement and prints its rows.
func (q *Query) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	format := q.read(c)
	client, err := q.connect(c)
	if err != nil {
		return err
	}
	namespace, err := onlyNamespace(ctx, env, client, q.Namespace)
	if err != nil {
		return err
	}
	owner, name, found := strings.Cut(namespace, "/")
	if !found {
		owner, name = storage.Self, namespace
	}
	var answer queryAnswer
	body := map[string]string{"username": owner, "namespace": name, "query": strings.Join(q.SQL, " ")}
	if err := client.Call(ctx, http.MethodPost, "/query", body, &answer); err != nil {
		if apiclient.Status(err) == http.StatusNotFound {
			err = explainNamespace(ctx, client, namespace, err)
		}
		return fmt.Errorf("query %s: %w", namespace, err)
	}
	return answer.write(env, format)
}

// onlyNamespace gives the namespace that was named, or the only one that there is.
func onlyNamespace(ctx context.Context, env command.Env, client *apiclient.Client, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	all, err := namespaces(ctx, client)
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", command.NotFoundError("there is no data that you may read; bring some with `parley ingest`")
	case len(all) > 1:
		c := env.NewChecker()
		c.Refuse("namespace", "must be one of %s", strings.Join(all, ", "))
		return "", c.Err()
	}
	return all[0], nil
}

// Head is `parley head DATASET`.
type Head struct {
	Dataset string         `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	Rows    string         `env:"-" short:"n" default:"10" placeholder:"N" help:"How many rows to print, 1 to 1000 (${default})."`
	Sort    string         `env:"-" placeholder:"COLUMN" help:"Sort by a column."`
	Desc    command.Toggle `env:"-" help:"Sort in descending order."`
	outputSettings
	connectionSettings
}

// Run prints the first rows of the dataset.
func (h *Head) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	format := h.read(c)
	rows, descending := c.Count("rows", h.Rows), c.Bool("desc", h.Desc)
	ref, err := apiclient.ParseDataset(h.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	client, err := h.connect(c)
	if err != nil {
		return err
	}
	var answer queryAnswer
	if err := client.Call(ctx, http.MethodGet, ref.Path("/data")+"/rows?"+rowsQuery(rows, h.Sort, descending), nil, &answer); err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	return answer.write(env, format)
}
