package client

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// preview uploads the files and prints what an ingestion would make of them. The upload is
// kept for the ingestion that may follow.
func (j *ingestJob) preview(ctx context.Context, asJSON bool) error {
	upload, err := j.uploadFiles(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(j.files))
	for i, file := range j.files {
		names[i] = filepath.Base(file.Path)
	}
	files := strings.Join(names, ", ")
	preview, err := j.PreviewFiles(ctx, upload, j.ref, j.how())
	if err != nil {
		return fmt.Errorf("%s: %w", files, err)
	}
	if asJSON {
		err = writeJSON(j.env.Stdout, struct {
			File string `json:"file"`
			apiclient.FilePreview
		}{files, preview})
	} else {
		err = j.printPreview(files, preview)
	}
	for _, table := range preview.Tables {
		if len(table.Columns) == 0 {
			err = errors.Join(err, fmt.Errorf("%s: %s would not be ingested: %s", files, console.Line(table.Name), console.Line(reasonOf(table))))
		}
	}
	return err
}

// how says how the files go into the dataset.
func (j *ingestJob) how() apiclient.IngestOptions {
	return apiclient.IngestOptions{Mode: j.mode, Options: j.options}
}

func (j *ingestJob) printPreview(file string, preview apiclient.FilePreview) error {
	w := j.env.Stdout
	for _, table := range preview.Tables {
		fmt.Fprintf(w, "%s: %s, %s, %s\n", console.Line(file), console.Line(table.Name), plural(int(table.RowCount), "row"), plural(len(table.Columns), "column"))
		report := domain.IngestReport{Encoding: preview.Encoding, Warnings: table.Warnings}
		columns := console.Table{Columns: []console.Column{{Name: "column"}, {Name: "type"}, {Name: "missing", Right: true}, {Name: "examples"}}}
		for _, column := range table.Columns {
			report.Columns = append(report.Columns, column.ColumnReport)
			examples := ""
			for i, example := range column.Examples {
				if i > 0 {
					examples += ", "
				}
				examples += string(example)
			}
			columns.Rows = append(columns.Rows, []string{column.Name, domain.TypeWord(column.Type), fmt.Sprint(column.Missing), examples})
		}
		printReport(j.env.Stderr, report)
		if len(columns.Rows) == 0 {
			continue
		}
		if err := columns.Write(w, console.StyleOf(w)); err != nil {
			return err
		}
		rows, err := console.Rows(table.Rows, nil)
		if err != nil {
			return fmt.Errorf("read the server's answer: %w", err)
		}
		fmt.Fprintln(w)
		if err := rows.WriteAs(w, console.FormatTable, console.StyleOf(w)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	into := j.ref.String()
	if len(preview.Tables) > 1 {
		into += "_TABLE, a dataset for each table"
	}
	_, err := fmt.Fprintln(j.env.Stderr, "nothing was stored; without --dry-run the rows go into "+into)
	return err
}
