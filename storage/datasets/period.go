package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
)

// QueryPeriod is Query over the rows of a period: those of the largest dataset with dates among those
// that the statement reads, by its first column of dates. It returns which these are; zero if there is
// none, and all rows are read.
func (d *Datasets) QueryPeriod(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string, period domain.Period) (domain.QueryResult, domain.PeriodColumn, error) {
	var by domain.PeriodColumn
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return domain.QueryResult{}, by, err
	}
	q := Query{SQL: sql}
	q.Tables, q.Source = d.tables(all)
	checked, err := d.config.Pool.Check(ctx, caller.Username, sql, q.Tables)
	if err != nil {
		return domain.QueryResult{}, by, err
	}
	largest := -1
	for i, t := range q.Tables {
		if column := dateColumn(t.Columns); column != "" && slices.Contains(checked.Tables, t.Name) && (largest < 0 || t.RowCount > q.Tables[largest].RowCount) {
			largest, by = i, domain.PeriodColumn{Dataset: t.Name, Column: column}
		}
	}
	if largest >= 0 {
		q.Tables[largest].Where = fmt.Sprintf("CAST(%s AS DATE) BETWEEN DATE %s AND DATE %s", sqltext.Name(by.Column), sqltext.Text(period.From), sqltext.Text(period.To))
	}
	result, err := d.queryTables(ctx, caller, all, q)
	return result, by, err
}

func dateColumn(columns []domain.Column) string {
	at := slices.IndexFunc(columns, func(c domain.Column) bool { return c.Type == "DATE" || strings.HasPrefix(c.Type, "TIMESTAMP") })
	if at < 0 {
		return ""
	}
	return columns[at].Name
}
