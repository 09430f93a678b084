package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/console"
)

// wait waits for the end of an ingestion and shows the progress.
func (j *ingestJob) wait(ctx context.Context, id string) (apiclient.Ingestion, error) {
	var processed atomic.Int64
	var shown *console.Meter
	defer func() {
		if shown != nil {
			shown.Stop()
		}
	}()
	return j.WaitForIngestion(ctx, j.ref.Path(""), id, func(now apiclient.Ingestion) {
		processed.Store(now.ProcessedBytes)
		if shown == nil {
			shown = console.StartMeter(j.env.Stderr, "ingesting", "read; the server stores the rows", now.ExpectedTotalBytes, func() (done, fresh int64) {
				return processed.Load(), processed.Load()
			})
		}
	})
}

func (j *ingestJob) printStarted(id string, asJSON bool) error {
	if asJSON {
		return writeJSON(j.env.Stdout, map[string]any{"ingestion": map[string]string{"id": id}})
	}
	_, err := fmt.Fprintf(j.env.Stdout, "%s is being ingested into %s\n", j.names(), j.ref)
	return err
}

// printEnded prints the dataset.
func (j *ingestJob) printEnded(ctx context.Context, ended apiclient.Ingestion, asJSON bool) error {
	var answer json.RawMessage
	if err := j.CallWithRetry(ctx, http.MethodGet, j.ref.Path("/data"), nil, &answer); err != nil {
		return fmt.Errorf("look at %s: %w", j.ref, err)
	}
	if asJSON {
		whole := map[string]json.RawMessage{}
		if err := json.Unmarshal(answer, &whole); err != nil {
			return fmt.Errorf("read the server's answer: %w", err)
		}
		return writeJSON(j.env.Stdout, map[string]any{"ingestion": ended, "dataset": whole["dataset"], "metadata": whole["metadata"]})
	}
	line := fmt.Sprintf("%s from %s", plural(int(ended.ProcessedRows), "row"), j.names())
	if ended.StatusMessage != "" {
		line += "; " + console.Line(ended.StatusMessage)
	}
	fmt.Fprintln(j.env.Stdout, line)
	printReport(j.env.Stderr, ended.Attributes.IngestReport)
	return printDataset(j.env, console.FormatTable, answer)
}
