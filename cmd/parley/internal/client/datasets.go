package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Datasets is `parley datasets [WHICH]`.
type Datasets struct {
	Which string `arg:"" optional:"" placeholder:"[OWNER/]NAMESPACE[/NAME]" help:"A namespace, to list its datasets, or a dataset, to describe it. Without it, list all datasets that you can read."`
	outputSettings
	connectionSettings
}

// Run lists datasets, or describes one.
func (d *Datasets) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	format := d.format()
	client, err := d.connect(c)
	if err != nil {
		return err
	}
	answer, err := findData(ctx, client, d.Which)
	if err != nil {
		return err
	}
	var list []datasetEntry
	if json.Unmarshal(answer, &list) == nil {
		return printDatasets(ctx, env, client, format, list)
	}
	if format == console.FormatJSON {
		return writeJSON(env.Stdout, answer)
	}
	return printDataset(env, format, answer)
}

// findData gets what a text names: the first of its possible meanings that exists.
func findData(ctx context.Context, client *apiclient.Client, which string) (answer json.RawMessage, err error) {
	paths := []string{"/schema/datasets/all"}
	if which != "" {
		if paths, err = dataPaths(which); err != nil {
			return nil, err
		}
	}
	for _, path := range paths {
		err = client.Call(ctx, http.MethodGet, path, nil, &answer)
		if apiclient.Status(err) != http.StatusNotFound {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look for %s: %w", cmp.Or(which, "datasets"), err)
	}
	return answer, nil
}

// dataPaths returns the paths of what a text may name. Two names are an owner and a
// namespace or, if that does not exist, a dataset of the user.
func dataPaths(which string) (paths []string, err error) {
	parts := strings.Split(which, "/")
	if len(parts) > 3 || slices.Contains(parts, "") {
		return nil, command.UsageError{"WHICH must be NAMESPACE, OWNER/NAMESPACE or [OWNER/]NAMESPACE/NAME, not '" + which + "'"}
	}
	var problem error
	try := func(ref apiclient.Ref, operation, end string) {
		if err := ref.Check(); err == nil {
			paths = append(paths, ref.Path(operation)+end)
		} else if problem == nil {
			problem = err
		}
	}
	switch len(parts) {
	case 1:
		try(apiclient.Ref{Owner: domain.Self, Namespace: parts[0]}, "/schema", "/datasets")
	case 2:
		try(apiclient.Ref{Owner: parts[0], Namespace: parts[1]}, "/schema", "/datasets")
		try(apiclient.Ref{Owner: domain.Self, Namespace: parts[0], Name: parts[1]}, "/data", "")
	case 3:
		try(apiclient.Ref{Owner: parts[0], Namespace: parts[1], Name: parts[2]}, "/data", "")
	}
	if len(paths) == 0 {
		return nil, command.UsageError{"WHICH " + problem.Error()}
	}
	return paths, nil
}

// datasetEntry is a dataset in a list.
type datasetEntry struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Owner      string `json:"owner"`
	Visibility string `json:"visibility"`
	RowCount   *int64 `json:"rowCount,omitempty"`
}

// datasetView is a dataset as a server describes it.
type datasetView struct {
	Dataset  datasetEntry
	Metadata struct {
		Columns          []domain.Column
		RowCount         int64
		DisplayName      *string
		DataDescription  *string
		SchemaDefinition map[string]string
	}
}

func printDataset(env command.Env, format console.Format, answer json.RawMessage) error {
	var one datasetView
	if err := json.Unmarshal(answer, &one); err != nil {
		return fmt.Errorf("read the server's answer: %w", err)
	}
	if format == console.FormatTable {
		return one.print(env.Stdout)
	}
	return writeList(env, format, one.Metadata.Columns, one.columns())
}

// maxCounted is how many datasets of a list have their rows counted.
const maxCounted = 200

func printDatasets(ctx context.Context, env command.Env, client *apiclient.Client, format console.Format, list []datasetEntry) error {
	if len(list) == 0 && format == console.FormatTable {
		fmt.Fprintln(env.Stderr, "There are no datasets that you may read. `parley ingest FILE --dataset NAMESPACE/NAME` makes one.")
		return nil
	}
	if len(list) <= maxCounted {
		countRows(ctx, client, list)
	} else {
		fmt.Fprintf(env.Stderr, "Rows are counted in lists of at most %d datasets. `parley datasets NAMESPACE` lists fewer.\n", maxCounted)
	}
	table := console.Table{Columns: []console.Column{{Name: "namespace"}, {Name: "name"}, {Name: "rows", Right: true}, {Name: "owner"}}}
	for _, entry := range list {
		rows := console.None
		if entry.RowCount != nil {
			rows = strconv.FormatInt(*entry.RowCount, 10)
		}
		table.Rows = append(table.Rows, []string{entry.Namespace, entry.Name, rows, entry.Owner})
	}
	return writeList(env, format, list, table)
}

// countRows asks how many rows datasets have. Those that are gone meanwhile have none.
func countRows(ctx context.Context, client *apiclient.Client, list []datasetEntry) {
	var group errgroup.Group
	group.SetLimit(connections)
	for i := range list {
		group.Go(func() error {
			entry := &list[i]
			var view datasetView
			ref := apiclient.Ref{Owner: entry.Owner, Namespace: entry.Namespace, Name: entry.Name}
			if client.Call(ctx, http.MethodGet, ref.Path("/data"), nil, &view) == nil {
				entry.RowCount = &view.Metadata.RowCount
			}
			return nil
		})
	}
	_ = group.Wait()
}

// print describes the dataset: what it is, how many rows, and its columns.
func (v datasetView) print(w io.Writer) error {
	d, m := v.Dataset, v.Metadata
	name := d.Owner + "/" + d.Namespace + "/" + d.Name
	if m.DisplayName != nil {
		name += " (" + *m.DisplayName + ")"
	}
	fmt.Fprintf(w, "%s: %s, %s\n", console.Line(name), plural(int(m.RowCount), "row"), plural(len(m.Columns), "column"))
	if m.DataDescription != nil && *m.DataDescription != "" {
		fmt.Fprintln(w, console.Text(*m.DataDescription))
	}
	if len(m.Columns) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	return v.columns().Write(w, console.StyleOf(w))
}

func (v datasetView) columns() console.Table {
	table := console.Table{Columns: []console.Column{{Name: "column"}, {Name: "type"}}}
	if len(v.Metadata.SchemaDefinition) > 0 {
		table.Columns = append(table.Columns, console.Column{Name: "description"})
	}
	for _, column := range v.Metadata.Columns {
		table.Rows = append(table.Rows, []string{column.Name, domain.TypeWord(column.Type), v.Metadata.SchemaDefinition[column.Name]})
	}
	return table
}
