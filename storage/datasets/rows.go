package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
)

// sortColumns is how many columns decide the order of rows, so that pages of rows with
// equal values neither repeat nor lose any.
const sortColumns = 16

// Rows returns a page of a dataset's rows. An unknown column to sort by is ErrInvalid.
func (d *Datasets) Rows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, page domain.RowPage) (domain.QueryResult, error) {
	data, err := d.config.Records.DatasetData(ctx, caller, ref)
	if err != nil {
		return domain.QueryResult{}, err
	}
	order, err := orderBy(data.Columns, page)
	if err != nil || len(data.Columns) == 0 {
		return domain.QueryResult{}, err
	}
	sql := fmt.Sprintf("SELECT * FROM %s%s LIMIT %d OFFSET %d", sqltext.Name(data.Name), order, page.Limit, page.Offset)
	return d.QueryOver(ctx, caller, []domain.DatasetData{data}, sql)
}

// orderBy returns the ORDER BY clause of a page, "" for the order of the rows themselves.
func orderBy(columns []domain.Column, page domain.RowPage) (string, error) {
	if page.Sort == "" {
		return "", nil
	}
	at := slices.IndexFunc(columns, func(c domain.Column) bool { return strings.EqualFold(c.Name, page.Sort) })
	if at < 0 {
		return "", domain.Invalid(domain.FieldError{Field: "sort", Message: "is not a column of the dataset"})
	}
	direction := " ASC NULLS LAST"
	if page.Descending {
		direction = " DESC NULLS LAST"
	}
	order := " ORDER BY " + sqltext.Name(columns[at].Name) + direction
	for i, c := range columns[:min(len(columns), sortColumns)] {
		if i != at {
			order += ", " + sqltext.Name(c.Name)
		}
	}
	return order, nil
}
