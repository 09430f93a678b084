package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"parley/storage"
)

// ingestAttempt is an ingestion as it is listed.
type ingestAttempt struct {
	ID                 string                  `json:"id"`
	Status             storage.IngestionStatus `json:"status"`
	StatusMessage      string                  `json:"statusMessage"`
	ProcessedBytes     int64                   `json:"processedBytes"`
	ExpectedTotalBytes int64                   `json:"expectedTotalBytes"`
	ProcessedRows      int64                   `json:"processedRows"`
}

func (a ingestAttempt) ended() bool {
	return a.Status == storage.IngestionCompleted || a.Status == storage.IngestionFailed
}

// attempt looks how far an ingestion is, if it has begun.
func (j *ingesting) attempt(ctx context.Context, id string) (found ingestAttempt, begun bool, err error) {
	var list struct{ Data []ingestAttempt }
	if err := j.CallPatiently(ctx, http.MethodGet, j.ref.path("/data")+"/ingest/attempts?pageSize=100", nil, &list); err != nil {
		return ingestAttempt{}, false, fmt.Errorf("look how far the ingestion is: %w", err)
	}
	for _, a := range list.Data {
		if a.ID == id {
			return a, true, nil
		}
	}
	return ingestAttempt{}, false, nil
}

// wait waits until an ingestion has ended, and shows how far it is.
func (j *ingesting) wait(ctx context.Context, id string) (ingestAttempt, error) {
	var processed atomic.Int64
	var shown *meter
	defer func() {
		if shown != nil {
			shown.end()
		}
	}()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		now, begun, err := j.attempt(ctx, id)
		switch {
		case err != nil:
			return ingestAttempt{}, err
		case !begun:
			return ingestAttempt{}, fmt.Errorf("the server does not know the ingestion %s of %s: perhaps the dataset was deleted", id, j.ref)
		case now.ended():
			return now, nil
		}
		processed.Store(now.ProcessedBytes)
		if shown == nil {
			shown = startMeter(j.out.stderr, "ingesting", now.ExpectedTotalBytes, func() (done, fresh int64) {
				return processed.Load(), processed.Load()
			})
		}
		select {
		case <-ctx.Done():
			return ingestAttempt{}, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// printBegun says which ingestion was begun.
func (j *ingesting) printBegun(id string, asJSON bool) error {
	if asJSON {
		return writeJSON(j.out.stdout, map[string]any{"ingestion": map[string]string{"id": id}})
	}
	_, err := fmt.Fprintf(j.out.stdout, "%s is being ingested into %s\n", j.names(), j.ref)
	return err
}

// printEnded shows the dataset as it is now.
func (j *ingesting) printEnded(ctx context.Context, ended ingestAttempt, asJSON bool) error {
	var answer json.RawMessage
	if err := j.CallPatiently(ctx, http.MethodGet, j.ref.path("/data"), nil, &answer); err != nil {
		return fmt.Errorf("look at %s: %w", j.ref, err)
	}
	if asJSON {
		whole := map[string]json.RawMessage{}
		if err := json.Unmarshal(answer, &whole); err != nil {
			return fmt.Errorf("read the server's answer: %w", err)
		}
		return writeJSON(j.out.stdout, map[string]any{"ingestion": ended, "dataset": whole["dataset"], "metadata": whole["metadata"]})
	}
	fmt.Fprintf(j.out.stdout, "%s from %s\n", plural(int(ended.ProcessedRows), "row"), j.names())
	return printData(j.out, answer)
}
