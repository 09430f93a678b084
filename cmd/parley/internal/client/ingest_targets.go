package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// target is a dataset and the files whose rows it gets.
type target struct {
	ref   apiclient.Ref
	files []*apiclient.LocalFile
}

// refs returns the dataset of all files, or one for each file.
func (i *Ingest) refs(c *command.Checker) []apiclient.Ref {
	switch {
	case i.Namespace == "" && i.Dataset == "":
		c.Refuse("dataset", "or --namespace must be given")
		return nil
	case i.Namespace != "" && i.Dataset != "":
		c.Refuse("dataset", "and --namespace cannot both be given")
		return nil
	case i.Namespace == "":
		ref, err := apiclient.ParseDataset(i.Dataset)
		if err != nil {
			c.Refuse("dataset", "%v", err)
		}
		return []apiclient.Ref{ref}
	}
	owner, namespace, found := strings.Cut(i.Namespace, "/")
	if !found {
		owner, namespace = domain.Self, i.Namespace
	}
	files := map[string]string{}
	refs := make([]apiclient.Ref, len(i.Files))
	for at, file := range i.Files {
		refs[at] = apiclient.Ref{Owner: owner, Namespace: namespace, Name: domain.DatasetName(filepath.Base(file))}
		if err := refs[at].Check(); err != nil {
			c.Refuse("namespace", "%v", err)
			return nil
		}
		name := strings.ToLower(refs[at].Name)
		if other, taken := files[name]; taken {
			c.Refuse("namespace", "would have one dataset %s for %s and %s; ingest them one after the other with --dataset", refs[at].Name, other, file)
		}
		files[name] = file
	}
	return refs
}

// severalTables are the ends of names of files that may hold several tables.
var severalTables = []string{".xlsx", ".html", ".htm", ".zip", ".sqlite", ".sqlite3", ".db"}

// mayHoldTables reports whether a file may hold several tables: such a file is looked at
// before its rows are stored. Of JSON it is an object that may.
func mayHoldTables(file *apiclient.LocalFile) bool {
	extension := strings.ToLower(filepath.Ext(file.Path))
	if extension != ".json" {
		return slices.Contains(severalTables, extension)
	}
	head := make([]byte, 64)
	n, _ := file.File().ReadAt(head, 0)
	return bytes.HasPrefix(bytes.TrimSpace(head[:n]), []byte("{"))
}

// runTables ingests each table of a file into a dataset of its own. It reports false for a
// file that is one table. An error says which tables are stored and which are not.
func (j *ingestJob) runTables(ctx context.Context, description string, noWait, asJSON bool) (bool, error) {
	if len(j.files) != 1 || j.options.Sheet != "" || !mayHoldTables(j.files[0]) {
		return false, nil
	}
	upload, err := j.uploadFiles(ctx)
	if err != nil {
		return false, err
	}
	preview, err := j.PreviewFiles(ctx, upload, j.ref, j.how())
	if err != nil || len(preview.Tables) < 2 {
		return false, nil // the ingestion says what is wrong
	}
	base, err := uuid.Parse(upload.IngestionID)
	if err != nil {
		return false, fmt.Errorf("read the id of an ingestion: %w", err)
	}
	var stored []string
	var failed []error
	again := false
	for _, table := range preview.Tables {
		one := *j
		one.created, one.state, one.ref.Name, one.options.Sheet = false, "", j.tableName(table.Name), table.Name
		if len(table.Columns) == 0 {
			failed = append(failed, fmt.Errorf("%s was not ingested: %s", one.names(), reasonOf(table)))
			continue
		}
		id := uuid.NewSHA1(base, []byte(table.Name)).String()
		start := func(ctx context.Context) (string, error) {
			upload := upload
			upload.IngestionID = id
			return id, one.StartIngestion(ctx, one.ref.Path(""), upload, one.how())
		}
		if err := one.ingest(ctx, description, noWait, asJSON, start); err != nil {
			failed = append(failed, err)
			again = again || !errors.Is(err, apiclient.ErrNotIngested)
			continue
		}
		stored = append(stored, fmt.Sprintf("%s in %s", console.Line(table.Name), one.ref))
	}
	// With the state, the same command again does not add the stored tables twice.
	if !again {
		j.state.remove()
	}
	if err = errors.Join(failed...); err == nil || len(stored) == 0 {
		return true, err
	}
	others := "stored"
	if noWait {
		others = "being ingested"
	}
	return true, fmt.Errorf("%w\n  %s: %s", err, others, strings.Join(stored, ", "))
}

// tableName returns the dataset of a table a name that no other table or file of the command
// has.
func (j *ingestJob) tableName(table string) string {
	name := domain.UniqueName(domain.TableName(j.ref.Name, table), func(name string) bool { return j.taken[strings.ToLower(name)] })
	j.taken[strings.ToLower(name)] = true
	return name
}

func reasonOf(table apiclient.TablePreview) string {
	if len(table.Warnings) == 0 {
		return "it has no columns"
	}
	return table.Warnings[0].Message
}
