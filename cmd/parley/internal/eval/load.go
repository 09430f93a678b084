package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"parley/cmd/parley/internal/apiclient"
	"parley/internal/domain"
	"parley/llm/eval"
)

// suiteTable is a table of a suite and where it goes.
type suiteTable struct {
	eval.Table
	namespace string
	// label is the name of its ingestion. It marks the datasets of a suite; agents would
	// read a mark in a definition.
	label string
}

func (t suiteTable) String() string { return t.namespace + "/" + t.Name }

func (t suiteTable) ref() apiclient.Ref {
	return apiclient.Ref{Owner: domain.Self, Namespace: t.namespace, Name: t.Name}
}

// suiteLabel is the prefix of the labels of a suite.
func suiteLabel(suite *eval.Suite) string { return "parley eval " + suite.Name + ": " }

// tablesOf lists the tables of a namespace, with their labels.
func tablesOf(suite *eval.Suite, space eval.Namespace) ([]suiteTable, error) {
	if problem := domain.CheckName(space.Name); problem != "" {
		return nil, fmt.Errorf("the name of the namespace %q %s", space.Name, problem)
	}
	var tables []suiteTable
	for _, table := range space.Tables {
		if problem := domain.CheckName(table.Name); problem != "" {
			return nil, fmt.Errorf("the name of the table %q of %s %s", table.Name, space.Name, problem)
		}
		sum, err := fileSum(table.Path)
		if err != nil {
			return nil, err
		}
		tables = append(tables, suiteTable{Table: table, namespace: space.Name, label: suiteLabel(suite) + table.Name + ".csv " + sum})
	}
	return tables, nil
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read a table: %w", err)
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read a table: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

// suiteSpace is a namespace of a suite, and its state on the server.
type suiteSpace struct {
	tables []suiteTable
	// existing are the tables that the server has; current says that it has all, with
	// the same content.
	existing []suiteTable
	current  bool
}

// load loads the tables of a suite into a server, some namespaces in parallel. It keeps
// those with the same content and replaces those of another version of the suite. If
// there is anything else, it changes nothing.
func (c *client) load(ctx context.Context, suite *eval.Suite, parallel int, progress func(done, of int)) error {
	spaces, err := c.inspect(ctx, suite)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	_, tables := suite.Count()
	var mu sync.Mutex
	done := 0
	loaded := func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		progress(done, tables)
	}
	for _, space := range spaces {
		if space.current {
			continue
		}
		group.Go(func() error { return c.loadSpace(ctx, space, loaded) })
	}
	return group.Wait()
}

// loadSpace creates the datasets of a namespace in the order of the suite: agents see
// them in the order of their creation, and may choose by it.
func (c *client) loadSpace(ctx context.Context, space suiteSpace, loaded func()) error {
	for _, t := range space.existing {
		if err := c.Call(ctx, http.MethodDelete, t.ref().Path("/data"), nil, nil); err != nil {
			return fmt.Errorf("delete what is there of %s: %w", t, err)
		}
	}
	ids := make([]string, len(space.tables))
	for i, t := range space.tables {
		var err error
		if ids[i], err = c.upload(ctx, t); err != nil {
			return fmt.Errorf("load %s: %w", t, err)
		}
	}
	for i, t := range space.tables {
		if err := c.Ingested(ctx, t.ref(), ids[i]); err != nil {
			return fmt.Errorf("load %s: %w", t, err)
		}
		loaded()
	}
	return nil
}

// inspect returns the state of a suite on the server. Other datasets in its namespaces are
// an error: agents would use them.
func (c *client) inspect(ctx context.Context, suite *eval.Suite) ([]suiteSpace, error) {
	var there []struct{ Name string }
	if err := c.Call(ctx, http.MethodGet, "/schema/self/namespaces", nil, &there); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	known := map[string]bool{}
	for _, namespace := range there {
		known[strings.ToLower(namespace.Name)] = true
	}
	spaces := make([]suiteSpace, len(suite.Namespaces))
	for i, space := range suite.Namespaces {
		var err error
		if spaces[i].tables, err = tablesOf(suite, space); err != nil {
			return nil, err
		}
		if !known[strings.ToLower(space.Name)] {
			continue
		}
		if err := c.inspectNamespace(ctx, suite, space.Name, &spaces[i]); err != nil {
			return nil, err
		}
	}
	return spaces, nil
}

// inspectNamespace is inspect for a namespace that may exist.
func (c *client) inspectNamespace(ctx context.Context, suite *eval.Suite, name string, space *suiteSpace) error {
	var datasets []struct{ Name string }
	err := c.Call(ctx, http.MethodGet, "/schema/self/"+url.PathEscape(name)+"/datasets", nil, &datasets)
	if apiclient.Status(err) == http.StatusNotFound {
		return nil // it belongs to another user
	}
	if err != nil {
		return fmt.Errorf("list the datasets of %s: %w", name, err)
	}
	same := 0
	for _, dataset := range datasets {
		at := slices.IndexFunc(space.tables, func(t suiteTable) bool { return strings.EqualFold(t.Name, dataset.Name) })
		own := at >= 0
		if own {
			var current bool
			if own, current, err = c.isOurs(ctx, suite, space.tables[at]); err != nil {
				return err
			}
			if current {
				same++
			}
		}
		if !own {
			return fmt.Errorf("the namespace %s has a dataset %s that is not of the suite %s; nothing was changed", name, dataset.Name, suite.Name)
		}
		space.existing = append(space.existing, space.tables[at])
	}
	space.current = same == len(space.tables)
	return nil
}

// isOurs reports, by the ingestions of a dataset, whether it is of the suite, and whether
// its content is current.
func (c *client) isOurs(ctx context.Context, suite *eval.Suite, t suiteTable) (ours, current bool, err error) {
	var last apiclient.Ingestion
	count := 0
	for ingestion, err := range c.Ingestions(ctx, t.ref().Path("")) {
		if err != nil {
			return false, false, fmt.Errorf("look at %s: %w", t, err)
		}
		if !strings.HasPrefix(ingestion.Attributes.Name, suiteLabel(suite)) {
			return false, false, nil
		}
		last = ingestion
		count++
	}
	return count > 0, count == 1 && last.Attributes.Name == t.label && last.Completed(), nil
}

// upload uploads a table, creates its dataset and returns the id of the ingestion.
func (c *client) upload(ctx context.Context, t suiteTable) (string, error) {
	f, err := apiclient.OpenFile(t.Path)
	if err != nil {
		return "", err
	}
	defer apiclient.CloseFiles([]*apiclient.LocalFile{f})
	upload, err := c.Upload(ctx, []apiclient.File{f.File()})
	if err != nil {
		return "", err
	}
	if err := c.Call(ctx, http.MethodPost, "/ingest/new/"+url.PathEscape(t.namespace)+"/"+url.PathEscape(t.Name), nil, nil); err != nil {
		return "", fmt.Errorf("make the dataset: %w", err)
	}
	return upload.IngestionID, c.StartIngestion(ctx, t.ref().Path(""), upload, apiclient.IngestOptions{Name: t.label})
}
