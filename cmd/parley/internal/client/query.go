package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strings"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Query is `parley query SQL`.
type Query struct {
	SQL       []string `arg:"" optional:"" name:"sql" help:"One SELECT statement over the datasets of the namespace. With -, read it from standard input."`
	File      string   `env:"-" placeholder:"FILE" help:"Read the statement from a file."`
	Namespace string   `short:"n" placeholder:"NAME" help:"The data to query: one of your namespaces, or owner/namespace. Optional if you can read only one."`
	rowSettings
	connectionSettings
}

// Run runs the statement and prints its rows: all, except in a table on a terminal.
func (q *Query) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	as := q.rowFormat()
	switch {
	case len(q.SQL) > 0 && q.File != "":
		c.Refuse("file", "cannot be used with SQL")
	case len(q.SQL) == 0 && q.File == "":
		c.Add("SQL is missing: give a statement, - for standard input, or --file")
	}
	client, err := q.connect(c)
	if err != nil {
		return err
	}
	sql, err := q.statement()
	if err != nil {
		return err
	}
	namespace, err := onlyNamespace(ctx, env, client, q.Namespace)
	if err != nil {
		return err
	}
	owner, name, found := strings.Cut(namespace, "/")
	if !found {
		owner, name = domain.Self, namespace
	}
	body := map[string]string{"username": owner, "namespace": name, "query": sql}
	if as.onScreen(env) {
		var answer queryAnswer
		if err = client.Call(ctx, http.MethodPost, "/query", body, &answer); err == nil {
			return answer.write(env, as)
		}
	} else {
		err = writeAllRows(ctx, env, client, body, as)
	}
	if apiclient.Status(err) == http.StatusNotFound {
		err = explainNamespace(ctx, client, namespace, err)
	}
	if err != nil {
		return fmt.Errorf("query %s: %w", namespace, err)
	}
	return nil
}

// statement returns the SQL, from the arguments, standard input or a file.
func (q *Query) statement() (string, error) {
	text, from := strings.Join(q.SQL, " "), os.Stdin
	switch {
	case q.File != "":
		file, err := os.Open(q.File)
		if err != nil {
			return "", err
		}
		defer file.Close()
		from = file
	case text != "-":
		return text, nil
	}
	return readText("SQL", from)
}

// writeAllRows prints all rows of a query. They are on the disk before the first is printed: an
// incomplete result prints nothing.
func writeAllRows(ctx context.Context, env command.Env, client *apiclient.Client, query any, as rowFormat) error {
	received, err := client.QueryRows(ctx, query)
	if err != nil {
		return err
	}
	defer received.Close()
	file, err := os.CreateTemp("", "parley-")
	if err != nil {
		return fmt.Errorf("make a file for the rows: %w", err)
	}
	defer file.Close()
	defer os.Remove(file.Name())
	if _, err := copyBody(env, "receiving the rows", file, received, received.Size); err != nil {
		return err
	}
	count := 0
	rows := func(yield func(json.RawMessage, error) bool) {
		count = 0
		lines := bufio.NewReader(io.NewSectionReader(file, 0, math.MaxInt64))
		for {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return
			}
			count++
			if !yield(bytes.TrimSuffix(line, []byte("\n")), err) || err != nil {
				return
			}
		}
	}
	if err := (console.Result{Rows: rows, Columns: received.Columns, Internal: as.internal}).WriteAs(env.Stdout, as.Format); err != nil {
		return err
	}
	if as.Format == console.FormatTable {
		fmt.Fprintf(env.Stderr, "(%s)\n", plural(count, "row"))
	}
	return nil
}

// onlyNamespace returns the namespace that was named, or the only one that there is.
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
	Dataset string `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	Rows    int    `env:"-" short:"n" default:"10" placeholder:"N" help:"How many rows to print, 1 to 1000 (${default})."`
	Sort    string `env:"-" placeholder:"COLUMN" help:"Sort by a column."`
	Desc    bool   `env:"-" help:"Sort in descending order."`
	rowSettings
	connectionSettings
}

// Run prints the first rows of the dataset.
func (h *Head) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	as := h.rowFormat()
	ref, err := apiclient.ParseDataset(h.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	client, err := h.connect(c)
	if err != nil {
		return err
	}
	var answer queryAnswer
	if err := client.Call(ctx, http.MethodGet, ref.Path("/data")+"/rows?"+rowsQuery(h.Rows, h.Sort, h.Desc), nil, &answer); err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	return answer.write(env, as)
}
