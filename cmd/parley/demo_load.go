package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"parley/cmd/parley/sample"
	"parley/internal/apiclient"
	"parley/llm/eval"
)

// sampleLoader puts the sample into a server by the doors that its users have.
type sampleLoader struct {
	users map[string]*evalClient
	// again removes first what is there of the sample.
	again bool
	// loaded is told of each dataset.
	loaded func(done, of int)
}

func (l sampleLoader) load(ctx context.Context) error {
	spaces := sample.Spaces()
	done, of := 0, 0
	for _, space := range spaces {
		of += len(space.Datasets)
	}
	for _, space := range spaces {
		client := l.users[space.Owner]
		if l.again {
			if err := client.forget(ctx, space.Name); err != nil {
				return err
			}
		}
		for _, dataset := range space.Datasets {
			if err := client.loadSample(ctx, space.Name, dataset); err != nil {
				return fmt.Errorf("load %s/%s: %w", space.Name, dataset.Name, err)
			}
			done++
			l.loaded(done, of)
		}
		for _, viewer := range space.Viewers {
			if err := client.Call(ctx, http.MethodPost, "/permissions/namespaces/self/"+space.Name+"/shares",
				map[string]any{"username": viewer, "role": "viewer"}, nil); err != nil {
				return fmt.Errorf("share %s: %w", space.Name, err)
			}
		}
	}
	return nil
}

// forget deletes a namespace with all that is in it, where there is one.
func (c *evalClient) forget(ctx context.Context, namespace string) error {
	err := c.Call(ctx, http.MethodDelete, "/data/self/"+namespace+"?deleteDatasets=true", nil, nil)
	if err == nil || apiclient.Status(err) == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("delete what is there of %s: %w", namespace, err)
}

func (c *evalClient) loadSample(ctx context.Context, namespace string, dataset sample.Dataset) error {
	if dataset.Files != nil {
		return c.loadFiles(ctx, namespace, dataset)
	}
	return c.Call(ctx, http.MethodPost, "/ingest/"+namespace+"/"+dataset.Name,
		map[string]any{"data": dataset.Rows, "dataDescription": dataset.Description, "schemaDefinition": dataset.Fields}, nil)
}

// loadFiles makes a dataset of texts: they are uploaded in one session and
// ingested together.
func (c *evalClient) loadFiles(ctx context.Context, namespace string, dataset sample.Dataset) error {
	if err := c.Call(ctx, http.MethodPost, "/ingest/new/"+namespace+"/"+dataset.Name,
		map[string]any{"dataDescription": dataset.Description}, nil); err != nil {
		return err
	}
	var files []apiclient.UploadFile
	for _, file := range dataset.Files {
		files = append(files, apiclient.UploadFile{Filename: file.Name, Size: int64(len(file.Text))})
	}
	upload, err := c.PrepareUpload(ctx, files)
	if err != nil {
		return err
	}
	var uploaded []map[string]any
	for i, file := range dataset.Files {
		text, id := bytes.NewReader(file.Text), upload.Files[i].FileID
		if err := c.SendFile(ctx, upload.SessionID, id, io.NewSectionReader(text, 0, text.Size()), new(apiclient.Progress)); err != nil {
			return fmt.Errorf("upload %s: %w", file.Name, err)
		}
		uploaded = append(uploaded, map[string]any{"sessionId": upload.SessionID, "fileId": id})
	}
	var begun struct{ ID string }
	if err := c.Call(ctx, http.MethodPost, "/data/self/"+namespace+"/"+dataset.Name+"/ingest", map[string]any{"files": uploaded}, &begun); err != nil {
		return err
	}
	return c.settle(ctx, evalTable{namespace: namespace, Table: eval.Table{Name: dataset.Name}}, begun.ID)
}
