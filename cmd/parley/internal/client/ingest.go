package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Ingest is `parley ingest FILE… --dataset NAMESPACE/NAME` or `--namespace NAMESPACE`.
type Ingest struct {
	Files       []string `arg:"" name:"file" help:"The files: CSV, TSV, JSON, NDJSON, Parquet, Excel, SQLite, HTML, Word, PDF, text or Markdown; also gzipped or in a ZIP archive."`
	Dataset     string   `env:"-" short:"d" placeholder:"NAMESPACE/NAME" help:"The target dataset, with OWNER/ in front if it belongs to another user. Your own dataset is created if needed. If a file has several tables, each goes to its own dataset: NAME_TABLE."`
	Namespace   string   `env:"-" short:"n" placeholder:"NAMESPACE" help:"Create a dataset for each file in this namespace, named after the file."`
	Mode        string   `env:"-" default:"append" placeholder:"append|replace" help:"append rows, or replace all rows (${default})."`
	Description string   `env:"-" placeholder:"TEXT" help:"A description of the data, which agents read."`
	ingestFlags
	DryRun bool `env:"-" help:"Show the tables, columns, types and first rows of the files, and store nothing."`
	NoWait bool `env:"-" help:"Do not wait for the rows."`
	JSON   bool `env:"-" name:"json" help:"Print the dataset and the ingestion as JSON."`
	connectionSettings
}

// Run uploads the files and starts the ingestion. It resumes an interrupted run of the
// same command.
func (i *Ingest) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	refs := i.refs(c)
	if mode := domain.IngestMode(i.Mode); mode != domain.IngestAppend && mode != domain.IngestReplace {
		c.Refuse("mode", "must be append or replace, not %q", i.Mode)
	}
	options := i.options(c)
	for _, file := range i.Files {
		c.NotEmpty("FILE", file)
	}
	client, err := i.connect(c)
	if err != nil {
		return err
	}
	files, err := apiclient.OpenFiles(i.Files)
	if err != nil {
		return err
	}
	defer apiclient.CloseFiles(files)
	targets := []target{{refs[0], files}}
	if i.Namespace != "" {
		targets = nil
		for at, ref := range refs {
			targets = append(targets, target{ref, files[at : at+1]})
		}
	}
	taken := map[string]bool{}
	for _, ref := range refs {
		taken[strings.ToLower(ref.Name)] = true
	}
	var failed []error
	for _, target := range targets {
		job := ingestJob{Client: client, env: env, ref: target.ref, mode: i.Mode, options: options, files: target.files, taken: taken}
		job.own = target.ref.Own() || i.user().is(target.ref.Owner)
		if job.state, err = newStateFile(i.user(), target.ref, i.Mode, options, target.files); err != nil {
			fmt.Fprintf(env.Stderr, "parley: an interrupted upload cannot be resumed: %v\n", err)
		}
		if i.DryRun {
			err = job.preview(ctx, i.JSON)
		} else {
			err = job.run(ctx, i.Description, i.NoWait, i.JSON)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w: run the same command again to resume", command.ErrInterrupted)
		}
		if _, saved := job.state.load(len(job.files)); saved && apiclient.Unavailable(err) {
			err = fmt.Errorf("%w\n  run the same command again to resume", err)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	// One error keeps its kind, which decides the exit code.
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
}

// ingestJob is a run of the command.
type ingestJob struct {
	*apiclient.Client
	env     command.Env
	ref     apiclient.Ref
	mode    string
	options domain.IngestOptions
	files   []*apiclient.LocalFile
	state   stateFile
	// taken are the names of the command's datasets, in lower case.
	taken map[string]bool
	// own says that the dataset is the user's, created that this run has created it.
	own, created bool
}

func (j *ingestJob) run(ctx context.Context, description string, noWait, asJSON bool) error {
	several, err := j.runTables(ctx, description, noWait, asJSON)
	if err != nil || several {
		return err
	}
	return j.ingest(ctx, description, noWait, asJSON, j.send)
}

// ingest starts an ingestion into the dataset, waits for its end and prints it.
func (j *ingestJob) ingest(ctx context.Context, description string, noWait, asJSON bool, start func(context.Context) (string, error)) error {
	if err := j.ensureDataset(ctx, description); err != nil {
		return err
	}
	id, err := start(ctx)
	if err != nil {
		return err
	}
	if noWait {
		j.state.remove()
		return j.printStarted(id, asJSON)
	}
	ended, err := j.wait(ctx, id)
	if err != nil && !errors.Is(err, apiclient.ErrNotIngested) {
		return fmt.Errorf("ingest into %s, which the server may complete: %w", j.ref, err)
	}
	j.state.remove()
	if err != nil {
		return fmt.Errorf("%s %w%s", j.names(), err, j.removeCreated(ctx, id))
	}
	return j.printEnded(ctx, ended, asJSON)
}

// ensureDataset creates the dataset, or checks that the user can change it, before any
// upload. Setting its definition, or nothing of it, tells.
func (j *ingestJob) ensureDataset(ctx context.Context, description string) error {
	definition := map[string]any{}
	if description != "" {
		definition["dataDescription"] = description
	}
	err := j.Call(ctx, http.MethodPut, j.ref.Path("/data")+"/inferDefinition", definition, nil)
	if apiclient.Status(err) == http.StatusNotFound {
		err = j.createDataset(ctx, definition)
	}
	if err != nil {
		return fmt.Errorf("ingest into %s: %w", j.ref, err)
	}
	return nil
}

// createDataset creates a dataset, unless it exists and the user can only read it.
func (j *ingestJob) createDataset(ctx context.Context, definition map[string]any) error {
	err := j.Call(ctx, http.MethodGet, j.ref.Path("/data"), nil, nil)
	switch {
	case err == nil && !j.own:
		return fmt.Errorf("you can read it but not change it; its owner can allow it: `parley share %s/%s YOU --role editor`", j.ref.Namespace, j.ref.Name)
	case apiclient.Status(err) != http.StatusNotFound:
		return err
	case !j.own:
		return fmt.Errorf("only %s can make datasets there: %w", j.ref.Owner, err)
	}
	err = j.Call(ctx, http.MethodPost, "/ingest/new/"+j.ref.Namespace+"/"+j.ref.Name, definition, nil)
	if apiclient.Status(err) == http.StatusConflict {
		return nil // created meanwhile
	}
	j.created = err == nil
	return err
}

// removeCreated deletes the dataset that this run created if its only ingestion failed,
// and returns a note.
func (j *ingestJob) removeCreated(ctx context.Context, id string) string {
	if !j.created {
		return ""
	}
	for other, err := range j.Ingestions(ctx, j.ref.Path("")) {
		if err != nil || other.ID != id {
			return ""
		}
	}
	var view datasetView
	err := j.Call(ctx, http.MethodGet, j.ref.Path("/data"), nil, &view)
	if err != nil || view.Metadata.RowCount > 0 || j.Call(ctx, http.MethodDelete, j.ref.Path("/data"), nil, nil) != nil {
		return ""
	}
	return fmt.Sprintf("\n  %s, which was made for it, is removed again", j.ref)
}

// send uploads the missing parts of the files, starts the ingestion and returns its id.
func (j *ingestJob) send(ctx context.Context) (string, error) {
	if upload, known := j.state.load(len(j.files)); known {
		_, err := j.Ingestion(ctx, j.ref.Path(""), upload.IngestionID)
		if !errors.Is(err, apiclient.ErrNoIngestion) {
			return upload.IngestionID, err
		}
	}
	upload, err := j.uploadFiles(ctx)
	if err != nil {
		return "", err
	}
	return upload.IngestionID, j.StartIngestion(ctx, j.ref.Path(""), upload, j.how())
}

// uploadFiles uploads the missing parts of the files, of an earlier run's upload if there is
// one.
func (j *ingestJob) uploadFiles(ctx context.Context) (apiclient.Upload, error) {
	upload, known := j.state.load(len(j.files))
	if !known {
		if err := j.prepare(ctx, &upload); err != nil {
			return upload, err
		}
	}
	err := j.upload(ctx, upload)
	if known && errors.Is(err, apiclient.ErrUploadGone) {
		if err = j.prepare(ctx, &upload); err == nil {
			err = j.upload(ctx, upload)
		}
	}
	return upload, err
}

// prepare starts an upload and saves it for a later run.
func (j *ingestJob) prepare(ctx context.Context, upload *apiclient.Upload) (err error) {
	files := make([]apiclient.File, len(j.files))
	for i, file := range j.files {
		files[i] = file.File()
	}
	if *upload, err = j.PrepareUpload(ctx, files); err != nil || j.state == "" {
		return err
	}
	if err := j.state.save(*upload); err != nil {
		fmt.Fprintf(j.env.Stderr, "parley: an interrupted upload cannot be resumed: %v\n", err)
	}
	return nil
}

// upload sends the files, one after the other.
func (j *ingestJob) upload(ctx context.Context, upload apiclient.Upload) error {
	var total int64
	for _, file := range j.files {
		total += file.Size
	}
	m := console.StartMeter(j.env.Stderr, "sending "+j.names(), "sent; the server stores it", total, j.sent)
	err := j.sendFiles(ctx, upload)
	took := m.Stop()
	if err != nil {
		return err
	}
	done, fresh := j.sent()
	line := fmt.Sprintf("sent %s in %s", console.Bytes(fresh), console.Duration(took))
	if there := done - fresh; there > 0 {
		line += fmt.Sprintf("; %s were there already", console.Bytes(there))
	}
	fmt.Fprintln(j.env.Stderr, line)
	return nil
}

func (j *ingestJob) sendFiles(ctx context.Context, upload apiclient.Upload) error {
	for i, file := range j.files {
		err := j.SendFile(ctx, upload, i, file.File(), &file.Progress)
		if err == nil {
			err = file.Unchanged()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sent is how many bytes the server has, and how many of them this run sent.
func (j *ingestJob) sent() (done, fresh int64) {
	for _, file := range j.files {
		fresh += file.Progress.Sent.Load()
		done += file.Progress.Sent.Load() + file.Progress.There.Load()
	}
	return done, fresh
}

// names describes the files, and the table that is read.
func (j *ingestJob) names() string {
	name := strings.TrimSpace(console.Line(filepath.Base(j.files[0].Path)))
	if more := len(j.files) - 1; more > 0 {
		name = fmt.Sprintf("%s and %d more", name, more)
	}
	if j.options.Sheet != "" {
		name += ": " + console.Line(j.options.Sheet)
	}
	return name
}

// ingestFlags say how files are read, where that is not to be detected.
type ingestFlags struct {
	Encoding  string   `env:"-" placeholder:"NAME" help:"The encoding: utf-8, utf-16 or windows-1252. Detected by default."`
	Delimiter string   `env:"-" placeholder:"CHARACTER" help:"The character between fields; 'tab' for a tab. Detected by default."`
	HeaderRow *int     `env:"-" min:"0" placeholder:"ROW" help:"The row with the column names, from 1; 0 if there is none. Detected by default."`
	Sheet     string   `env:"-" placeholder:"NAME" help:"The table to read from a file with several, such as a sheet of a workbook."`
	Null      []string `env:"-" sep:"none" placeholder:"TEXT" help:"A spelling of a missing value, besides the usual ones such as NA. Repeatable."`
	Retype    []string `env:"-" sep:"none" placeholder:"COLUMN=TYPE" help:"The type of a column: text, integer, number, decimal(digits,scale), boolean, date, time, timestamp or 'timestamp with time zone'. date:dmy, date:mdy and date:ymd set the order of day, month and year. Repeatable."`
	Union     bool     `env:"-" help:"Allow files with different columns in one dataset."`
}

// optionFlags names the flags of options.
var optionFlags = map[string]string{"headerRow": "header-row", "nullValues": "null", "types": "retype"}

func (f ingestFlags) options(c *command.Checker) domain.IngestOptions {
	options := domain.IngestOptions{
		Encoding: f.Encoding, Delimiter: f.Delimiter, Sheet: f.Sheet, NullValues: f.Null, Union: f.Union, HeaderRow: f.HeaderRow,
	}
	if strings.EqualFold(options.Delimiter, "tab") || options.Delimiter == `\t` {
		options.Delimiter = "\t"
	}
	for _, text := range f.Retype {
		at := strings.LastIndex(text, "=")
		if at < 1 {
			c.Refuse("retype", "must be COLUMN=TYPE, not %q", text)
			continue
		}
		if options.Types == nil {
			options.Types = map[string]string{}
		}
		options.Types[text[:at]] = text[at+1:]
	}
	for _, wrong := range options.Normalize() {
		name, rest := wrong.Field, ""
		if at := strings.IndexAny(name, ".["); at > 0 {
			name, rest = name[:at], strings.Trim(name[at:], ".[]")+" "
		}
		if flag, ok := optionFlags[name]; ok {
			name = flag
		}
		if name == "null" {
			rest = ""
		}
		c.Refuse(name, "%s%s", rest, wrong.Message)
	}
	return options
}

// printReport prints what of a file was not read plainly, a line each.
func printReport(w io.Writer, report domain.IngestReport) {
	if report.Encoding != "" && report.Encoding != "utf-8" {
		fmt.Fprintf(w, "read as %s\n", console.Line(report.Encoding))
	}
	for _, column := range report.Columns {
		if slices.ContainsFunc(report.Warnings, func(w domain.IngestWarning) bool { return isMisfitWarning(w, column) }) {
			column.Misfits = 0
		}
		if notes := columnNotes(column); notes != "" {
			fmt.Fprintf(w, "%s: %s\n", console.Line(column.Name), console.Line(notes))
		}
	}
	for _, warning := range report.Warnings {
		line := "warning: "
		if warning.Line > 0 {
			line += fmt.Sprintf("line %d: ", warning.Line)
		}
		if warning.Column != "" {
			line += console.Line(warning.Column) + ": "
		}
		fmt.Fprintln(w, line+console.Line(warning.Message))
	}
}

// isMisfitWarning reports whether a warning is about the cells that did not fit a column: it
// names the line of the first one.
func isMisfitWarning(w domain.IngestWarning, c domain.ColumnReport) bool {
	first := int64(0)
	if len(c.MisfitLines) > 0 {
		first = c.MisfitLines[0]
	}
	return w.Column == c.Name && w.Line == first
}

// columnNotes says what a column became, "" when its cells were read as they are.
func columnNotes(c domain.ColumnReport) string {
	var notes []string
	if c.From != "" {
		notes = append(notes, "read from "+c.From)
	}
	if c.Unit != "" {
		notes = append(notes, "in "+c.Unit)
	}
	if c.Misfits > 0 {
		note := plural(int(c.Misfits), "cell") + " did not fit a narrower type"
		if len(c.MisfitLines) > 0 {
			note += fmt.Sprintf(", the first in line %d", c.MisfitLines[0])
		}
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return ""
	}
	return domain.TypeWord(c.Type) + ", " + strings.Join(notes, ", ")
}

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
