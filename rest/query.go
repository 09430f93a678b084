package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"parley/internal/accept"
	"parley/internal/domain"
	"parley/rest/mcp"
)

// Limits of a page of rows.
const (
	defaultRows = 100
	maxRows     = 1000
)

// Datasets reads and writes the rows of datasets. Package datasets describes the methods.
type Datasets interface {
	mcp.Data
	QueryDatasets(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, statements ...string) ([]string, error)
	NamedDatasets(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, text string, except []string) ([]string, error)
	SetRowRule(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rule domain.RowRule) (visible, total int64, err error)
	Download(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, as domain.Download) (*os.File, error)
	QueryPeriod(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string, period domain.Period) (domain.QueryResult, domain.PeriodColumn, error)
	DownloadResult(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string) (*os.File, []domain.Column, error)
	AppendRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rows []json.RawMessage, options domain.IngestOptions, beforeCommit func() error) error
	Preview(ctx context.Context, caller domain.Caller, rows []json.RawMessage, definition domain.Definition) ([]json.RawMessage, error)
	PreviewFiles(ctx context.Context, caller domain.Caller, files []domain.UploadFile, into domain.PreviewTarget, options domain.IngestOptions) (domain.FilePreview, error)
	Tables(ctx context.Context, caller domain.Caller, file domain.UploadFile) ([]string, error)
	Wake()
}

type queryAnswer struct {
	Data     []json.RawMessage `json:"data"`
	Metadata queryMetadata     `json:"metadata"`
	Chart    any               `json:"chart,omitempty"`
	Units    map[string]string `json:"units,omitempty"`
}

type queryMetadata struct {
	Count           int     `json:"count"`
	Truncated       bool    `json:"truncated"`
	TotalRows       int64   `json:"totalRows,omitempty"`
	ExecutedQuery   string  `json:"executedQuery"`
	OriginalQuery   string  `json:"originalQuery"`
	StartingDataset *string `json:"startingDataset,omitempty"`
	FinalDataset    *string `json:"finalDataset,omitempty"`
	// Columns are the names of the columns of a result without rows.
	Columns []string `json:"columns,omitempty"`
	// Period is by what the rows of a period were selected.
	Period *domain.PeriodColumn `json:"period,omitempty"`
	// Reading says how a question was read.
	Reading string `json:"reading,omitempty"`
	Measure string `json:"measure,omitempty"`
	certaintyJSON
}

// postQuery runs a query, or has an agent write one for a question. A client that accepts lines
// gets all rows of a query.
func (s *Server) postQuery(r *request) error {
	f := r.fields(s.cfg.MaxBody)
	if f.has("naturalLanguageQuery") {
		return s.answerInQueries(r, f)
	}
	ref, dataset, query := f.namespace(), f.optionalText("dataset", "", domain.CheckName), f.text("query", anyText)
	question := f.optionalText("question", "", domain.CheckQuestion)
	period := f.period("period")
	allRows := slices.Contains(accept.MediaTypes(r.Request.Header), mediaLines)
	if period != nil && allRows {
		f.check("period", "is not for results with all rows")
	}
	if err := r.err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.ctx(), s.cfg.RequestTimeout)
	defer cancel()
	if err := s.findDataset(ctx, r.caller, ref, dataset); err != nil {
		return err
	}
	if allRows {
		return s.sendDownload(r, s.results, mediaLines, "result.ndjson", func() (*os.File, error) {
			ctx, cancel := context.WithTimeout(r.ctx(), s.cfg.RequestTimeout)
			defer cancel()
			file, columns, err := s.cfg.Datasets.DownloadResult(ctx, r.caller, domain.DataScope{Namespace: ref}, query)
			if len(columns) > 0 {
				r.Header("X-Columns", columnsHeader(columns))
			}
			return file, err
		})
	}
	metadata := queryMetadata{OriginalQuery: query}
	var result domain.QueryResult
	var err error
	if period == nil {
		result, err = s.cfg.Datasets.Query(ctx, r.caller, domain.DataScope{Namespace: ref}, query)
	} else {
		var by domain.PeriodColumn
		if result, by, err = s.cfg.Datasets.QueryPeriod(ctx, r.caller, domain.DataScope{Namespace: ref}, query, *period); by.Column != "" {
			metadata.Period = &by
		}
	}
	if err != nil {
		return err
	}
	answer := toRows(result, metadata, dataset)
	if question != "" {
		if chart, units := s.cfg.Chart(ctx, r.caller, ref, question, result); chart != nil {
			answer.Chart, answer.Units = chart, units
		}
	}
	r.PureJSON(http.StatusOK, answer)
	return nil
}

// period reads an optional period of days.
func (f fields) period(name string) *domain.Period {
	if !f.has(name) {
		return nil
	}
	members, _ := decode[map[string]json.RawMessage](f, name, "an object")
	of := fields{request: f.request, at: f.at + name + ".", members: members}
	day := func(text string) string {
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "must be a day, such as 2025-01-31"
		}
		return ""
	}
	period := &domain.Period{From: of.text("from", day), To: of.text("to", day)}
	if period.From > period.To {
		of.check("to", "must not be before from")
	}
	return period
}

// columnsHeader returns the names of columns as a JSON list in ASCII.
func columnsHeader(columns []domain.Column) string {
	list, _ := json.Marshal(columnNames(columns)) // strings cannot fail
	var header strings.Builder
	for _, char := range string(list) {
		if char < utf8.RuneSelf {
			header.WriteRune(char)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, char) {
			fmt.Fprintf(&header, `\u%04x`, unit)
		}
	}
	return header.String()
}

func columnNames(columns []domain.Column) []string {
	return toList(columns, func(c domain.Column) string { return c.Name })
}

// answerInQueries answers a question with the rows of the query that nl2ql writes.
func (s *Server) answerInQueries(r *request, f fields) error {
	if f.has("query") {
		f.check("query", "and naturalLanguageQuery cannot both be given")
	}
	if f.has("period") {
		f.check("period", "is for query: ask about the period in naturalLanguageQuery")
	}
	question := s.question(f, "naturalLanguageQuery")
	question.Agent = agentNL2QL
	dataset := f.optionalText("dataset", "", domain.CheckName)
	if err := r.err(); err != nil {
		return err
	}
	if dataset != "" {
		question.HelperPrompt = "The question is about the dataset " + dataset + "."
	}
	defer s.extendDeadlines(r.Context)()
	if err := s.findDataset(r.ctx(), r.caller, question.Namespace, dataset); err != nil {
		return err
	}
	var result domain.QueryResult
	metadata := queryMetadata{OriginalQuery: question.Text}
	_, err := s.runToEnd(r, question, func(progress domain.Progress) {
		if progress.Kind == domain.StepDone {
			result = domain.QueryResult{SQL: progress.Step.Query, Rows: progress.Step.Data, Truncated: progress.Step.Truncated, Total: progress.Step.Total}
			metadata.Reading, metadata.Measure, metadata.Columns, metadata.certaintyJSON = progress.Step.Reasoning, progress.Step.Measure, progress.Step.Columns, toCertainty(progress.Step)
		}
	})
	if err != nil {
		return err
	}
	r.PureJSON(http.StatusOK, toRows(result, metadata, dataset))
	return nil
}

// findDataset fails when the named dataset does not exist for the caller.
func (s *Server) findDataset(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, name string) error {
	if name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	_, err := s.cfg.Store.Dataset(ctx, caller, domain.DatasetRef{Owner: in.Owner, Namespace: in.Name, Name: name})
	return err
}

// toRows converts rows; metadata says what was asked.
func toRows(result domain.QueryResult, metadata queryMetadata, dataset string) queryAnswer {
	metadata.Count, metadata.Truncated, metadata.TotalRows, metadata.ExecutedQuery = len(result.Rows), result.Truncated, result.Total, result.SQL
	metadata.StartingDataset, metadata.FinalDataset = orNull(dataset), orNull(dataset)
	if len(result.Rows) == 0 && len(result.Columns) > 0 {
		metadata.Columns = columnNames(result.Columns)
	}
	return queryAnswer{Data: orEmpty(result.Rows), Metadata: metadata}
}

// getRows answers with a page of a dataset's rows.
func (s *Server) getRows(r *request, ref domain.DatasetRef) (any, error) {
	page := domain.RowPage{Limit: defaultRows, Sort: r.Query("sort")}
	if text := r.Query("limit"); text != "" {
		page.Limit = int64(r.pageSize("limit", text, maxRows))
	}
	if text := r.Query("offset"); text != "" {
		var err error
		if page.Offset, err = strconv.ParseInt(text, 10, 64); err != nil || page.Offset < 0 {
			r.check("offset", "must be a whole number from 0 on")
		}
	}
	if order := r.Query("order"); order != "" {
		r.check("order", oneOf("asc", "desc")(order))
		page.Descending = order == "desc"
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	result, err := s.cfg.Datasets.Rows(r.ctx(), r.caller, ref, page)
	return toRows(result, queryMetadata{OriginalQuery: result.SQL}, ref.Name), err
}
