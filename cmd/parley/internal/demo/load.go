package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/demo/sample"
	"parley/internal/domain"
)

// sampleLoader loads the sample through the public interface.
type sampleLoader struct {
	users map[string]*apiclient.Client
	// reload deletes the existing namespaces first.
	reload bool
	// loaded is called for each dataset.
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
		if l.reload {
			if err := deleteNamespace(ctx, client, space.Name); err != nil {
				return err
			}
		}
		for _, dataset := range space.Datasets {
			if err := loadSample(ctx, client, apiclient.Ref{Owner: domain.Self, Namespace: space.Name, Name: dataset.Name}, dataset); err != nil {
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

// deleteNamespace deletes a namespace with its datasets, if it exists.
func deleteNamespace(ctx context.Context, client *apiclient.Client, namespace string) error {
	err := client.Call(ctx, http.MethodDelete, "/data/self/"+namespace+"?deleteDatasets=true", nil, nil)
	if err == nil || apiclient.Status(err) == http.StatusNotFound {
		return nil
	}
	return fmt.Errorf("delete what is there of %s: %w", namespace, err)
}

func loadSample(ctx context.Context, client *apiclient.Client, ref apiclient.Ref, dataset sample.Dataset) error {
	if dataset.Files != nil {
		return loadFiles(ctx, client, ref, dataset)
	}
	return client.Call(ctx, http.MethodPost, "/ingest/"+ref.Namespace+"/"+ref.Name,
		map[string]any{"data": dataset.Rows, "dataDescription": dataset.Description, "schemaDefinition": dataset.Fields}, nil)
}

// loadFiles creates a dataset from texts, in one ingestion.
func loadFiles(ctx context.Context, client *apiclient.Client, ref apiclient.Ref, dataset sample.Dataset) error {
	if err := client.Call(ctx, http.MethodPost, "/ingest/new/"+ref.Namespace+"/"+ref.Name,
		map[string]any{"dataDescription": dataset.Description}, nil); err != nil {
		return err
	}
	var files []apiclient.File
	for _, file := range dataset.Files {
		text := bytes.NewReader(file.Text)
		files = append(files, apiclient.File{Name: file.Name, SectionReader: io.NewSectionReader(text, 0, text.Size())})
	}
	upload, err := client.Upload(ctx, files)
	if err != nil {
		return err
	}
	if err := client.StartIngestion(ctx, ref.Path(""), upload, apiclient.IngestOptions{}); err != nil {
		return err
	}
	return client.Ingested(ctx, ref, upload.IngestionID)
}
