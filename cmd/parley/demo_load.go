package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"parley/cmd/parley/sample"
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
			if err := client.call(ctx, http.MethodPost, "/permissions/namespaces/self/"+space.Name+"/shares",
				map[string]any{"username": viewer, "role": "viewer"}, nil); err != nil {
				return fmt.Errorf("share %s: %w", space.Name, err)
			}
		}
	}
	return nil
}

// forget deletes a namespace with all that is in it, where there is one.
func (c *evalClient) forget(ctx context.Context, namespace string) error {
	err := c.call(ctx, http.MethodDelete, "/data/self/"+namespace+"?deleteDatasets=true", nil, nil)
	var refused *statusError
	if err == nil || errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("delete what is there of %s: %w", namespace, err)
}

func (c *evalClient) loadSample(ctx context.Context, namespace string, dataset sample.Dataset) error {
	if dataset.Files != nil {
		return c.loadFiles(ctx, namespace, dataset)
	}
	return c.call(ctx, http.MethodPost, "/ingest/"+namespace+"/"+dataset.Name,
		map[string]any{"data": dataset.Rows, "dataDescription": dataset.Description, "schemaDefinition": dataset.Fields}, nil)
}

// sampleUpload is a session in which files are uploaded.
type sampleUpload struct {
	SessionID string
	Files     []struct {
		FileID, UploadID, Key string
		PresignedURLs         []struct{ URL string }
	}
}

// loadFiles makes a dataset of texts: they are uploaded in one session and
// ingested together.
func (c *evalClient) loadFiles(ctx context.Context, namespace string, dataset sample.Dataset) error {
	if err := c.call(ctx, http.MethodPost, "/ingest/new/"+namespace+"/"+dataset.Name,
		map[string]any{"dataDescription": dataset.Description}, nil); err != nil {
		return err
	}
	var wanted, uploaded []map[string]any
	for _, file := range dataset.Files {
		wanted = append(wanted, map[string]any{"filename": file.Name, "size": len(file.Text)})
	}
	var upload sampleUpload
	if err := c.call(ctx, http.MethodPost, "/file-upload/prepare", map[string]any{"filesToUpload": wanted}, &upload); err != nil {
		return err
	}
	for i, file := range dataset.Files {
		if err := c.sendFile(ctx, upload, i, file.Text); err != nil {
			return fmt.Errorf("upload %s: %w", file.Name, err)
		}
		uploaded = append(uploaded, map[string]any{"sessionId": upload.SessionID, "fileId": upload.Files[i].FileID})
	}
	var begun struct{ ID string }
	if err := c.call(ctx, http.MethodPost, "/data/self/"+namespace+"/"+dataset.Name+"/ingest", map[string]any{"files": uploaded}, &begun); err != nil {
		return err
	}
	return c.settle(ctx, evalTable{namespace: namespace, Table: eval.Table{Name: dataset.Name}}, begun.ID)
}

// sendFile sends one of the files of an upload, which is small enough for a single part.
func (c *evalClient) sendFile(ctx context.Context, upload sampleUpload, i int, text []byte) error {
	if len(upload.Files) <= i || len(upload.Files[i].PresignedURLs) != 1 {
		return errors.New("the server wants it in other parts")
	}
	file := upload.Files[i]
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, file.PresignedURLs[0].URL, bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("make a request: %w", err)
	}
	header, _, err := c.do(request)
	if err != nil {
		return err
	}
	part := map[string]any{"partNumber": 1, "etag": header.Get("ETag")}
	return c.call(ctx, http.MethodPost, "/file-upload/"+upload.SessionID+"/files/"+file.FileID+"/finish",
		map[string]any{"uploadId": file.UploadID, "key": file.Key, "parts": []any{part}}, nil)
}
