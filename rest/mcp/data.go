package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/internal/domain"
)

const (
	mediaJSON  = "application/json"
	cacheScope = "private"
)

// Limits of descriptions.
const (
	// maxNamespaces is of how many namespaces a list describes the datasets.
	maxNamespaces = 10
	// maxListText limits a description in a list, and maxText one of a dataset, in characters.
	maxListText = 300
	maxText     = 2000
	// maxListColumns limits the columns of each dataset in a list.
	maxListColumns = 50
	// maxFrequent is how many of the most frequent values of a column are returned.
	maxFrequent = 5
	// exampleTimeout limits the search for examples, which are remembered.
	exampleTimeout = 5 * time.Second
)

type listInput struct {
	Namespace string `json:"namespace,omitempty" jsonschema:"only the datasets of this namespace: its name, or owner/name"`
}

type listOutput struct {
	Datasets  []listedDataset `json:"datasets"`
	Truncated bool            `json:"truncated" jsonschema:"whether datasets, or parts of their descriptions, were left out"`
}

// datasetFacts are in lists and descriptions.
type datasetFacts struct {
	Namespace   string `json:"namespace" jsonschema:"owner/name; the other tools take it as it is"`
	Dataset     string `json:"dataset"`
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
	RowCount    *int64 `json:"row_count,omitempty"`
}

type listedDataset struct {
	datasetFacts
	Columns []string `json:"columns,omitempty" jsonschema:"the names of the columns"`
}

func (s *Server) listDatasets(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in listInput) (*sdk.CallToolResult, listOutput, error) {
	out := listOutput{Datasets: []listedDataset{}}
	all, bytes, err := []domain.Dataset(nil), maxBytes, error(nil)
	if in.Namespace == "" {
		bytes /= maxNamespaces
		all, err = s.cfg.Store.Datasets(ctx, caller)
	} else if ref, wrong := readNamespace(caller, in.Namespace); wrong != nil {
		err = wrong
	} else {
		all, err = s.cfg.Store.NamespaceDatasets(ctx, caller, ref)
	}
	if err != nil {
		return nil, out, err
	}
	isOthers := func(d domain.Dataset) int {
		if d.Owner == caller.Username {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b domain.Dataset) int { return isOthers(a) - isOthers(b) }) // those of others take no room from one's own
	out.Truncated = len(all) > maxListed
	described := map[domain.NamespaceRef][]domain.Dataset{}
	var text strings.Builder
	for _, d := range all[:min(len(all), maxListed)] {
		ref := domain.NamespaceRef{Owner: d.Owner, Name: d.Namespace}
		if _, known := described[ref]; !known && len(described) < maxNamespaces {
			if described[ref], err = s.cfg.Store.DescribedDatasets(ctx, caller, ref, bytes); err != nil {
				return nil, out, err
			}
		}
		listed := listedDataset{datasetFacts: factsOf(d)}
		fmt.Fprintf(&text, "%s %s", listed.Namespace, listed.Dataset)
		if i := slices.IndexFunc(described[ref], func(found domain.Dataset) bool { return found.Name == d.Name }); i >= 0 {
			found := described[ref][i]
			listed.Description = cut(found.Definition.Description, maxListText, &out.Truncated)
			if found.RowCount >= 0 { // all rows are for the caller
				listed.RowCount = &found.RowCount
				fmt.Fprintf(&text, " (%d rows)", found.RowCount)
			}
			listed.Columns = columnNames(found.Columns[:min(len(found.Columns), maxListColumns)])
			out.Truncated = out.Truncated || len(found.Columns) > maxListColumns
			fmt.Fprintf(&text, ": %s", strings.Join(strings.Fields(listed.Description), " "))
		} else {
			out.Truncated = true
		}
		text.WriteString("\n")
		out.Datasets = append(out.Datasets, listed)
	}
	return shortText(cmp.Or(domain.Truncate(text.String(), textSize), "There are no datasets that the user can read.")), out, nil
}

func readNamespace(caller domain.Caller, text string) (domain.NamespaceRef, error) {
	ref, ok := domain.ParseNamespace(caller, text)
	if !ok {
		return ref, domain.Invalid(domain.FieldError{Field: "namespace", Message: "must be a namespace, or owner/namespace"})
	}
	return ref, nil
}

// cut returns the beginning of a text, and notes that it is not the whole.
func cut(text *string, limit int, truncated *bool) string {
	if text == nil {
		return ""
	}
	short := domain.Truncate(*text, limit)
	*truncated = *truncated || short != *text
	return short
}

// datasetInput names a dataset.
type datasetInput struct {
	Namespace string `json:"namespace" jsonschema:"the namespace of the dataset: its name, or owner/name"`
	Dataset   string `json:"dataset" jsonschema:"the name of the dataset"`
}

func (d datasetInput) ref(caller domain.Caller) (domain.DatasetRef, error) {
	namespace, err := readNamespace(caller, d.Namespace)
	if problem := domain.CheckName(d.Dataset); err == nil && problem != "" {
		err = domain.Invalid(domain.FieldError{Field: "dataset", Message: problem})
	}
	return domain.DatasetRef{Owner: namespace.Owner, Namespace: namespace.Name, Name: d.Dataset}, err
}

type description struct {
	datasetFacts
	Access        string         `json:"access" jsonschema:"what the user may do: owner, editor or viewer"`
	Columns       []column       `json:"columns"`
	Relationships []relationship `json:"relationships" jsonschema:"how rows belong to rows of other datasets of the namespace, for joins"`
	Examples      []string       `json:"example_questions" jsonschema:"questions that ask can answer"`
	Truncated     bool           `json:"truncated" jsonschema:"whether columns or parts of texts were left out"`
}

// column has what is known of a column. Values are text, as in rows.
type column struct {
	Name        string              `json:"name"`
	Type        string              `json:"type"`
	Unit        string              `json:"unit,omitempty"`
	Description string              `json:"description,omitempty"`
	Missing     *int64              `json:"missing,omitempty" jsonschema:"how many rows have no value"`
	Distinct    *int64              `json:"distinct,omitempty" jsonschema:"about how many different values there are"`
	Min         *string             `json:"min,omitempty"`
	Max         *string             `json:"max,omitempty"`
	Frequent    []domain.ValueCount `json:"frequent_values,omitempty"`
}

type relationship struct {
	Columns     []string `json:"columns"`
	Dataset     string   `json:"dataset"`
	ToColumns   []string `json:"to_columns"`
	Label       string   `json:"label,omitempty"`
	Cardinality string   `json:"cardinality,omitempty" jsonschema:"one-to-one, many-to-one, one-to-many or many-to-many"`
	Unmatched   *int64   `json:"unmatched_rows,omitempty" jsonschema:"rows without a row in the other dataset, which an inner join leaves out"`
	Declared    bool     `json:"declared" jsonschema:"false if the values only suggest it"`
}

func (s *Server) describeDataset(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in datasetInput) (*sdk.CallToolResult, description, error) {
	ref, err := in.ref(caller)
	if err != nil {
		return nil, description{}, err
	}
	out, err := s.describe(ctx, caller, ref)
	if err != nil {
		return nil, out, err
	}
	return shortText(fmt.Sprintf("%s %s, %d rows. %s\nColumns: %s\nRelationships: %s\nExample questions: %s", out.Namespace, out.Dataset, *out.RowCount, out.Description,
		shortJSON(out.Columns), shortJSON(out.Relationships), strings.Join(out.Examples, " "))), out, nil
}

func (s *Server) describe(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (out description, err error) {
	d, err := s.cfg.Store.Dataset(ctx, caller, ref)
	if err != nil {
		return out, err
	}
	if d.RowCount < 0 {
		if d.RowCount, err = s.cfg.Data.VisibleRows(ctx, caller, ref); err != nil {
			return out, err
		}
	}
	profile, err := s.cfg.Store.Profile(ctx, caller, ref)
	if err != nil {
		return out, err
	}
	declared, suggested, err := s.cfg.Data.Links(ctx, caller, ref)
	if err != nil {
		return out, err
	}
	out = description{
		datasetFacts: factsOf(d), Access: string(d.Access.Strongest()),
		Columns: []column{}, Relationships: []relationship{}, Examples: []string{}, Truncated: len(profile.Columns) > maxColumns,
	}
	out.RowCount, out.Description = &d.RowCount, cut(d.Definition.Description, maxText, &out.Truncated)
	for _, c := range profile.Columns[:min(len(profile.Columns), maxColumns)] {
		described := column{Name: c.Name, Type: c.Type, Unit: c.Unit, Min: c.Min, Max: c.Max, Frequent: c.Top[:min(len(c.Top), maxFrequent)]}
		if c.Type == domain.TypeUnknown {
			described.Type = "VARCHAR" // as which it reads
		}
		if text, ok := d.Definition.Schema[c.Name]; ok {
			described.Description = cut(&text, maxListText, &out.Truncated)
		}
		if profile.Known {
			described.Missing, described.Distinct = &c.Missing, &c.Distinct
		}
		out.Columns = append(out.Columns, described)
	}
	for _, link := range append(declared, suggested...) {
		if link.Problem != "" {
			continue
		}
		r := relationship{Columns: link.Columns, Dataset: link.To, ToColumns: link.ToColumns, Label: link.Label, Declared: link.Declared}
		if m := link.Measure; m != nil {
			r.Cardinality, r.Unmatched = string(m.Cardinality), &m.Orphans
		}
		out.Relationships = append(out.Relationships, r)
	}
	limited, cancel := context.WithTimeout(ctx, exampleTimeout)
	defer cancel()
	examples, err := s.cfg.Agents.Examples(limited, caller, ref)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // a description without examples is better than none
	}
	out.Examples = append(out.Examples, examples...)
	return out, err
}

type queryInput struct {
	Namespace string   `json:"namespace" jsonschema:"the namespace whose datasets are the tables: its name, or owner/name"`
	Query     string   `json:"query" jsonschema:"one SELECT statement in DuckDB SQL"`
	Limit     rowLimit `json:"limit,omitempty" jsonschema:"how many rows to return at most, 50 by default; aggregate in the query instead of reading many rows"`
}

type queryOutput struct {
	Status status   `json:"status"`
	Failed *failure `json:"failed,omitempty" jsonschema:"why there are no rows"`
	table
}

func (s *Server) runSQL(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in queryInput) (*sdk.CallToolResult, queryOutput, error) {
	namespace, err := readNamespace(caller, in.Namespace)
	var result domain.QueryResult
	if err == nil {
		result, err = s.cfg.Data.Query(ctx, caller, domain.DataScope{Namespace: namespace}, in.Query)
	}
	bytes := maxBytes
	out := queryOutput{Status: completed, table: newTable(result, columnNames(result.Columns), int(cmp.Or(in.Limit, defaultRows)), &bytes)}
	if err != nil {
		out.Status, out.Failed = failed, s.fail(ctx, "run_sql", err)
		out.Failed.Query = domain.Truncate(in.Query, maxText)
		return failedText(out.Failed.Error()), out, nil
	}
	return shortText(out.text()), out, nil
}

func columnNames(columns []domain.Column) (names []string) {
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

type previewInput struct {
	datasetInput
	Limit      rowLimit `json:"limit,omitempty" jsonschema:"how many rows to return at most, 10 by default"`
	Offset     offset   `json:"offset,omitempty" jsonschema:"how many rows to skip"`
	Sort       string   `json:"sort,omitempty" jsonschema:"the column that orders the rows; by default their own order"`
	Descending bool     `json:"descending,omitempty"`
}

func (s *Server) previewRows(ctx context.Context, caller domain.Caller, _ *sdk.CallToolRequest, in previewInput) (*sdk.CallToolResult, table, error) {
	ref, err := in.ref(caller)
	if err != nil {
		return nil, table{}, err
	}
	limit := cmp.Or(in.Limit, defaultPreview)
	// One row more shows whether there are more.
	result, err := s.cfg.Data.Rows(ctx, caller, ref, domain.RowPage{Limit: int64(limit) + 1, Offset: int64(in.Offset), Sort: in.Sort, Descending: in.Descending})
	result.Truncated = result.Truncated || len(result.Rows) > int(limit)
	bytes := maxBytes
	out := newTable(result, columnNames(result.Columns), int(limit), &bytes)
	return shortText(out.text()), out, err
}

const scheme = "parley://"

// factsOf returns the names of a dataset, and its address as a resource. A template matches
// characters that need no escape.
func factsOf(d domain.Dataset) datasetFacts {
	escape := func(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }
	return datasetFacts{Namespace: d.Owner + "/" + d.Namespace, Dataset: d.Name, URI: scheme + escape(d.Owner) + "/" + escape(d.Namespace) + "/" + escape(d.Name)}
}

func (s *Server) readResource(ctx context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := request.Params.URI
	path, ok := strings.CutPrefix(uri, scheme)
	names := strings.Split(path, "/")
	for i, name := range names {
		unescaped, err := url.PathUnescape(name)
		names[i], ok = unescaped, ok && err == nil
	}
	if !ok || len(names) != 3 {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	ctx, caller, cancel := requestOf(ctx, s.cfg.Timeout)
	defer cancel()
	ref, err := datasetInput{Namespace: names[0] + "/" + names[1], Dataset: names[2]}.ref(caller)
	var out description
	if err == nil {
		out, err = s.describe(ctx, caller, ref)
	}
	switch {
	case errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrInvalid):
		return nil, sdk.ResourceNotFoundError(uri)
	case err != nil:
		return nil, s.rpcError(ctx, "resources/read", err)
	}
	text, err := json.Marshal(out)
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mediaJSON, Text: string(text)}}}, err
}

// listResources lists the datasets that the caller may read, in pages. A cursor is the number of
// those before.
func (s *Server) listResources(ctx context.Context, params *sdk.ListResourcesParams) (sdk.Result, error) {
	ctx, caller, cancel := requestOf(ctx, s.cfg.Timeout)
	defer cancel()
	first := 0
	if params != nil && params.Cursor != "" {
		var err error
		if first, err = strconv.Atoi(params.Cursor); err != nil || first < 0 {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not valid"}
		}
	}
	all, err := s.cfg.Store.Datasets(ctx, caller)
	if err != nil {
		return nil, s.rpcError(ctx, "resources/list", err)
	}
	result := &sdk.ListResourcesResult{Resources: []*sdk.Resource{}, Cacheable: sdk.Cacheable{CacheScope: cacheScope}}
	page := all[min(first, len(all)):]
	if len(page) > maxListed {
		page, result.NextCursor = page[:maxListed], strconv.Itoa(first+maxListed)
	}
	for _, d := range page {
		facts := factsOf(d)
		result.Resources = append(result.Resources, &sdk.Resource{URI: facts.URI, Name: d.Name, Title: facts.Namespace + " " + d.Name, MIMEType: mediaJSON})
	}
	return result, nil
}
