package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/llm/eval"
	"parley/storage"
)

// evalTable is a table of a suite and where it goes.
type evalTable struct {
	eval.Table
	namespace string
	// label is what its ingestion is called. It tells a suite's own datasets from
	// others without a word in a definition, which agents would read.
	label string
}

func (t evalTable) String() string { return t.namespace + "/" + t.Name }

// path is the dataset's, behind what is done with it.
func (t evalTable) path(operation string) string {
	return operation + "/self/" + url.PathEscape(t.namespace) + "/" + url.PathEscape(t.Name)
}

// suiteLabel begins the labels of a suite's tables.
func suiteLabel(suite *eval.Suite) string { return "parley eval " + suite.Name + ": " }

// evalTables lists the tables of a suite, with their labels.
func evalTables(suite *eval.Suite) ([]evalTable, error) {
	var tables []evalTable
	for _, space := range suite.Namespaces {
		if problem := storage.CheckName(space.Name); problem != "" {
			return nil, fmt.Errorf("the name of the namespace %q %s", space.Name, problem)
		}
		for _, table := range space.Tables {
			if problem := storage.CheckName(table.Name); problem != "" {
				return nil, fmt.Errorf("the name of the table %q of %s %s", table.Name, space.Name, problem)
			}
			sum, err := fileSum(table.Path)
			if err != nil {
				return nil, err
			}
			tables = append(tables, evalTable{Table: table, namespace: space.Name, label: suiteLabel(suite) + table.Name + ".csv " + sum})
		}
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

// load puts the tables of a suite into a server, some at a time. What is there
// already is kept when it is the same, replaced when it is of an older state of
// the suite, and otherwise nothing is done at all.
func (c *evalClient) load(ctx context.Context, suite *eval.Suite, parallel int, progress func(done, of int)) error {
	tables, err := evalTables(suite)
	if err != nil {
		return err
	}
	have, err := c.have(ctx, suite, tables)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var mu sync.Mutex
	done := 0
	for _, t := range tables {
		group.Go(func() error {
			if err := c.loadTable(ctx, t, have[strings.ToLower(t.String())]); err != nil {
				return fmt.Errorf("load %s: %w", t, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, len(tables))
			return nil
		})
	}
	return group.Wait()
}

// state is what a server has of a table.
type state int

const (
	absent state = iota
	outdated
	current
)

// have says what a server has of a suite's tables, by namespace/table in lower
// case. Anything else in the suite's namespaces would be asked, too: an error.
func (c *evalClient) have(ctx context.Context, suite *eval.Suite, tables []evalTable) (map[string]state, error) {
	var there []struct{ Name string }
	if err := c.call(ctx, http.MethodGet, "/schema/self/namespaces", nil, &there); err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	known := map[string]bool{}
	for _, namespace := range there {
		known[strings.ToLower(namespace.Name)] = true
	}
	wanted, found := map[string]evalTable{}, map[string]state{}
	for _, t := range tables {
		wanted[strings.ToLower(t.String())] = t
	}
	for _, space := range suite.Namespaces {
		if !known[strings.ToLower(space.Name)] {
			continue
		}
		var datasets []struct{ Name string }
		var refused *statusError
		err := c.call(ctx, http.MethodGet, "/schema/self/"+url.PathEscape(space.Name)+"/datasets", nil, &datasets)
		if errors.As(err, &refused) && refused.status == http.StatusNotFound {
			continue // it is somebody else's, shared with this user
		}
		if err != nil {
			return nil, fmt.Errorf("list the datasets of %s: %w", space.Name, err)
		}
		for _, dataset := range datasets {
			key := strings.ToLower(space.Name + "/" + dataset.Name)
			if found[key], err = c.stateOf(ctx, suite, wanted[key]); err != nil {
				return nil, err
			}
			if found[key] == absent {
				return nil, fmt.Errorf("the namespace %s has a dataset %s that is not of the suite %s; nothing was changed", space.Name, dataset.Name, suite.Name)
			}
		}
	}
	return found, nil
}

// stateOf looks at the ingestions of a dataset that is there; absent is for one
// that is not the suite's.
func (c *evalClient) stateOf(ctx context.Context, suite *eval.Suite, t evalTable) (state, error) {
	if t.Name == "" {
		return absent, nil
	}
	attempts, err := c.attempts(ctx, t)
	if err != nil || len(attempts) == 0 {
		return absent, err
	}
	for _, attempt := range attempts {
		if !strings.HasPrefix(attempt.Attributes.Name, suiteLabel(suite)) {
			return absent, nil
		}
	}
	if len(attempts) == 1 && attempts[0].Attributes.Name == t.label && attempts[0].Status == storage.IngestionCompleted {
		return current, nil
	}
	return outdated, nil
}

// attempt is an ingestion as it is listed.
type attempt struct {
	ID            string
	Status        storage.IngestionStatus
	StatusMessage string
	Attributes    struct{ Name string }
}

func (c *evalClient) attempts(ctx context.Context, t evalTable) ([]attempt, error) {
	var list struct{ Data []attempt }
	if err := c.call(ctx, http.MethodGet, t.path("/data")+"/ingest/attempts?pageSize=100", nil, &list); err != nil {
		return nil, fmt.Errorf("list the ingestions of %s: %w", t, err)
	}
	return list.Data, nil
}

// loadTable uploads a table and waits until it is ingested.
func (c *evalClient) loadTable(ctx context.Context, t evalTable, have state) error {
	switch have {
	case current:
		return nil
	case outdated:
		if err := c.call(ctx, http.MethodDelete, t.path("/data"), nil, nil); err != nil {
			return fmt.Errorf("delete what is there: %w", err)
		}
	}
	id, err := c.upload(ctx, t)
	if err != nil {
		return err
	}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		attempts, err := c.attempts(ctx, t)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			switch {
			case a.ID == id && a.Status == storage.IngestionCompleted:
				return nil
			case a.ID == id && a.Status == storage.IngestionFailed:
				return fmt.Errorf("ingest %s: %s", t.Path, a.StatusMessage)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// upload sends a table in its parts and gives the id of its ingestion.
func (c *evalClient) upload(ctx context.Context, t evalTable) (string, error) {
	f, err := os.Open(t.Path)
	if err != nil {
		return "", fmt.Errorf("read a table: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read a table: %w", err)
	}
	var prepared struct {
		UploadID, Key string
		PresignedURLs []struct {
			URL  string
			Size int64
		}
	}
	upload := t.path("/upload/multipart")
	if err := c.call(ctx, http.MethodPost, upload+"/prepare", map[string]any{"filename": t.Name + ".csv", "size": info.Size()}, &prepared); err != nil {
		return "", fmt.Errorf("prepare an upload: %w", err)
	}
	var parts []map[string]any
	offset := int64(0)
	for i, part := range prepared.PresignedURLs {
		request, err := http.NewRequestWithContext(ctx, http.MethodPut, part.URL, io.NewSectionReader(f, offset, part.Size))
		if err != nil {
			return "", fmt.Errorf("upload a part: %w", err)
		}
		request.ContentLength = part.Size
		header, _, err := c.do(request)
		if err != nil {
			return "", fmt.Errorf("upload a part: %w", err)
		}
		parts = append(parts, map[string]any{"partNumber": i + 1, "etag": header.Get("ETag")})
		offset += part.Size
	}
	var begun struct{ ID string }
	finish := map[string]any{"uploadId": prepared.UploadID, "key": prepared.Key, "parts": parts, "name": t.label}
	if err := c.call(ctx, http.MethodPost, upload+"/finish", finish, &begun); err != nil {
		return "", fmt.Errorf("finish an upload: %w", err)
	}
	return begun.ID, nil
}
